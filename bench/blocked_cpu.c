/* CPU time that a rank uses while it is blocked in MPI_Recv for 5 seconds (1 with --quick,
 * scaled to 5). */
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
        double before = cpu_seconds();
        MPI_Recv(&data, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        report_one("blocked-cpu/5s", "s", (cpu_seconds() - before) * 5 / wait);
    }
    MPI_Finalize();
    return 0;
}
