/* Memory of a rank right after MPI_Init, and after a barrier and an allreduce (of 8 bytes and of 64 KiB), from /proc/self:
 * the mean over all ranks.
 *
 * private: Private_Clean + Private_Dirty, pages that no other process maps.
 * anon:    RssAnon, heap, stacks and copied-on-write pages.
 * pss:     private pages plus this rank's share of the shared pages.
 */
#include <mpi.h>

#include "bench.h"

/* Sum of the kB values of the lines of `file` that start with one of the two keys. */
static double kilobytes(const char *file, const char *key, const char *other)
{
    char line[256];
    double sum = 0;
    FILE *f = fopen(file, "r");
    if (!f) {
        perror(file);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 0;
    }
    while (fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = 0;
        if (strcmp(line, key) == 0 || (other && strcmp(line, other) == 0))
            sum += strtod(colon + 1, NULL);
    }
    fclose(f);
    return sum;
}

static const char *what[] = {"private", "anon", "pss"};
enum { WHAT = 3 };

static void measure(double *to)
{
    to[0] = kilobytes("/proc/self/smaps_rollup", "Private_Clean", "Private_Dirty");
    to[1] = kilobytes("/proc/self/status", "RssAnon", NULL);
    to[2] = kilobytes("/proc/self/smaps_rollup", "Pss", NULL);
}

int main(int argc, char **argv)
{
    enum { COUNT = 8 << 10 };
    static double in[COUNT], out[COUNT];
    int rank, ranks;
    char name[64];
    double mine[2 * WHAT], other[2 * WHAT], sum[2 * WHAT];

    MPI_Init(&argc, &argv);
    measure(mine);
    /* The program's own arrays are taken off below. */
    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    measure(mine + WHAT);
    for (int k = WHAT; k < 2 * WHAT; k++)
        mine[k] -= (double)(sizeof in + sizeof out) / 1024;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        memcpy(sum, mine, sizeof sum);
        for (int r = 1; r < ranks; r++) {
            MPI_Recv(other, 2 * WHAT, MPI_DOUBLE, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < 2 * WHAT; k++)
                sum[k] += other[k];
        }
        for (int k = 0; k < 2 * WHAT; k++) {
            snprintf(name, sizeof name, "memory/%s%s-%d", what[k % WHAT], k < WHAT ? "" : "-used", ranks);
            report_one(name, "MB", sum[k] / ranks / 1024);
        }
    } else {
        MPI_Send(mine, 2 * WHAT, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
