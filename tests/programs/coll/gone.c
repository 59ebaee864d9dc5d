// ranks: 2 3 8
// timeout: 20
// expect-exit: nonzero
// expect-stderr: has called MPI_Finalize
// One rank makes a call more than the others, which have ended: it gets an error instead of a hang.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int sum = 0;
    for (int i = 0; i < 5; i++) {
        MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) CHECK_EQ(sum, size * (size - 1) / 2);
    }
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
