// ranks: 1 2 4 8
// expect-exit: 42
// MPI_Abort with a code: it is the job's exit status, and ranks that wait for ever are stopped.
#include "../check.h"

int main(int argc, char **argv) {
    int value;
    start(&argc, &argv);
    if (rank == size / 2) MPI_Abort(MPI_COMM_WORLD, 42);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
