/* More ranks than cores (bench/run gives it two cores).
 *
 * pingpong: ranks 0 and 1 exchange 8 bytes while all others wait in MPI_Barrier; half round trip.
 * ring: a token of 8 bytes goes round all ranks; time for one hop.
 *
 * Slow libraries need milliseconds for a hop here, so a run has a time limit instead of a count: the
 * message itself says whether another round follows.
 */
#include <mpi.h>

#include "bench.h"

static int rank, ranks;

/* Round trips between two ranks or around the ring, for `limit` seconds. Returns the seconds of one
 * round on rank 0, and 0 on the others. */
static double ping_pong(double limit)
{
    double start = seconds(), go = 1;
    long n = 0;
    while (rank < 2 && go != 0) {
        if (rank == 0) {
            go = seconds() - start < limit;
            MPI_Send(&go, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&go, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&go, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&go, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        }
        n++;
    }
    double spent = seconds() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    return n ? spent / (double)n : 0;
}

static double token_ring(double limit)
{
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    double start = seconds(), go = 1;
    long n = 0;
    while (go != 0) {
        if (rank == 0) {
            go = seconds() - start < limit;
            MPI_Send(&go, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD);
            MPI_Recv(&go, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&go, 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&go, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD);
        }
        n++;
    }
    return (seconds() - start) / (double)n;
}

int main(int argc, char **argv)
{
    enum { REPS = 5 };
    double v[REPS];
    char name[64];
    double limit = is_quick(argc, argv) ? 0.1 : 0.4;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);

    for (int r = 0; r < REPS; r++)
        v[r] = ping_pong(limit) / 2 * 1e6;
    if (rank == 0) {
        snprintf(name, sizeof name, "oversub/pingpong-%d", ranks);
        report(name, "us", v, REPS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < REPS; r++)
        v[r] = token_ring(limit) / ranks * 1e6;
    if (rank == 0) {
        snprintf(name, sizeof name, "oversub/ring-%d", ranks);
        report(name, "us", v, REPS);
    }
    MPI_Finalize();
    return 0;
}
