// ranks: 1 2
// expect-exit: 4
// expect-stderr: MPI_Recv
// expect-stderr: MPI_ERR_TAG
// MPI_ERRORS_ABORT on the world ends the job as MPI_Abort would.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0;
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    if (rank == size - 1) MPI_Recv(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
