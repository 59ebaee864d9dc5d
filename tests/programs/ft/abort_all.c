// ranks: 3
// launch: --with-ft ulfm
// expect-exit: 4
// expect-stderr: MPI_Abort with code 4; the other 2 ranks were stopped
// no-valgrind: ranks are killed
// MPI_Abort of the world ends the job.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    for (;;) pause();
}
