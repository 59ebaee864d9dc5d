// ranks: 3
// launch: --with-ft ulfm
// expect-exit: 101
// expect-stderr: MPIX_ERR_PROC_FAILED
// no-valgrind: ranks are killed
// A program without error handlers ends when a rank dies.
#include "ft.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (rank == 1) die();
    MPI_Barrier(MPI_COMM_WORLD);
    for (;;) pause();
}
