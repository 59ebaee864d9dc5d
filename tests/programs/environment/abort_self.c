// ranks: 1 2
// expect-exit: 9
// MPI_Abort on MPI_COMM_SELF ends the job too, with the code given.
#include "../check.h"

int main(int argc, char **argv) {
    int value;
    start(&argc, &argv);
    if (rank == size - 1) MPI_Abort(MPI_COMM_SELF, 9);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
