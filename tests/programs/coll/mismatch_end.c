// ranks: 2 4
// timeout: 30
// expect-exit: nonzero
// expect-stderr: MPI_Finalize on MPI_COMM_WORLD failed: MPI_ERR_ROOT
// expect-stderr: called MPI_Bcast(4 bytes, root
// The last collective of the program, in which ranks do not wait for each other, has different roots.
// The error comes at the end.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = rank;
    for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2) MPI_Bcast(&value, 1, MPI_INT, rank, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
