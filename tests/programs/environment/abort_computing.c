// ranks: 2 4
// expect-exit: 7
// timeout: 20
// MPI_Abort stops ranks that never call MPI again.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    for (volatile unsigned long i = 0;; i++) {
    }
}
