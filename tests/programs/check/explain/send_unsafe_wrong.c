// ranks: 2
// launch: --check=strict
// expect-exit: 121
// expect-stderr: OX-SEND-UNSAFE: ranks 0,1: MPI_Send waits for its receive
// expect-stderr: ranks 0 and 1 wait for each other
// expect-stderr: deadlock
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, value;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
