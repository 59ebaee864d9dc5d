/* The first calls of a program: cold barrier|allreduce. The mean of the first 50 calls on MPI_COMM_WORLD, after messages that
 * tell that all ranks have started.
 */
#include <mpi.h>

#include "bench.h"

static void meet(int rank, int ranks)
{
    int word = 0;
    for (int other = 1; rank == 0 && other < ranks; other++)
        MPI_Recv(&word, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int other = 1; rank == 0 && other < ranks; other++)
        MPI_Send(&word, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    if (rank) {
        MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    enum { CALLS = 50 };
    int rank, ranks, one = 1, sum;
    int sums = has_word(argc, argv, "allreduce");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    meet(rank, ranks);
    double start = seconds();
    for (int i = 0; i < CALLS; i++)
        if (sums)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    double mean = (seconds() - start) / CALLS * 1e6;
    if (rank == 0) {
        char name[64];
        snprintf(name, sizeof name, "cold-%d/%s", ranks, sums ? "allreduce/4" : "barrier");
        report_one(name, "us", mean);
    }
    MPI_Finalize();
    return 0;
}
