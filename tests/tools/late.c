// The ranks end in three ways: well, without MPI_Finalize, and killed.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        raise(SIGKILL);
    if (rank == 2)
        exit(0);
    MPI_Finalize();
    return 0;
}
