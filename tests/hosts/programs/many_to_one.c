// All ranks have their first message for rank 0 at the same moment, and rank 0 then has its first for all.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, ranks, got, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 1; i < ranks; i++) {
            MPI_Status status;
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            wrong += got != status.MPI_SOURCE;
        }
        for (int i = 1; i < ranks; i++)
            MPI_Send(&i, 1, MPI_INT, i, 2, MPI_COMM_WORLD);
        printf("%d of %d messages wrong\n", wrong, ranks - 1);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got != rank)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
