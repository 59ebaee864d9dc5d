/* CPU time that a rank uses while it is blocked in MPI_Recv for 5 seconds (1 with --quick,
 * scaled to 5), and what the process that has started it uses meanwhile: mpirun, or what stands for it on a host. */
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Of another process, all its threads; negative where the kernel does not say. */
static double cpu_seconds_of(pid_t pid)
{
    char path[64], text[1024], *end;
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    end = strrchr(text, ')');
    if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return -1;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

int main(int argc, char **argv)
{
    int rank, data = 0, quick = is_quick(argc, argv);
    unsigned wait = quick ? 1 : 5;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        sleep(wait);
        MPI_Send(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    } else if (rank == 0) {
        double before = cpu_seconds(), parent = cpu_seconds_of(getppid());
        MPI_Recv(&data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        report_one("blocked-cpu/5s", "s", (cpu_seconds() - before) * 5 / wait);
        if (parent >= 0)
            report_one("blocked-cpu/parent-5s", "s", (cpu_seconds_of(getppid()) - parent) * 5 / wait);
    }
    MPI_Finalize();
    return 0;
}
