// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-REQ-ACTIVE: ranks 0,1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int value = rank, other;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &request);
    MPI_Recv(&other, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
