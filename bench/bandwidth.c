/* One-way bandwidth with a window of nonblocking messages, 64 KiB to 16 MiB.
 *
 * The sender starts a window of MPI_Isend and the receiver one of MPI_Irecv. Both wait for all of
 * them, and a 4-byte answer ends the round. A window is 64 messages, or fewer if they would have
 * more than 64 MiB: receives in flight must not share memory, so each has its own buffer.
 */
#include <mpi.h>

#include "bench.h"

enum { WINDOW = 64 };
static const size_t pool = 64u << 20;

static int rank, window;
static size_t size;
static char *buffer;

static double rounds(long n)
{
    MPI_Request req[WINDOW];
    int answer = 0;
    double start = seconds();
    for (long i = 0; i < n; i++) {
        for (int w = 0; w < window; w++) {
            char *p = buffer + (size_t)w * size;
            if (rank == 0)
                MPI_Isend(p, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[w]);
            else
                MPI_Irecv(p, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[w]);
        }
        MPI_Waitall(window, req, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(&answer, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    return seconds() - start;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
    enum { MAX_REPS = 9 };
    double v[MAX_REPS];
    char label[24], name[64];
    int ranks, quick = is_quick(argc, argv), reps = quick ? 3 : MAX_REPS;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "bandwidth: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    buffer = page_buffer(pool);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size = sizes[i];
        window = pool / size < WINDOW ? (int)(pool / size) : WINDOW;
        long n = calibrate(rank, rounds, quick ? 0.01 : 0.04);
        for (int r = 0; r < reps; r++)
            v[r] = (double)size * window * (double)n / rounds(n) * 1e-6;
        if (rank == 0) {
            snprintf(name, sizeof name, "bandwidth/%s", size_name(size, label));
            report(name, "MB/s", v, reps);
        }
    }
    MPI_Finalize();
    return 0;
}
