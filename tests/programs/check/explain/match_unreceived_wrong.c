// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-MATCH-UNRECEIVED: rank 1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
