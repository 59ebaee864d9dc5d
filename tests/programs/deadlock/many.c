// ranks: 64
// one-host: ../hosts has the same between hosts
// timeout: 60
// attempts: 5
// cflags: -g
// expect-exit: 121
// expect-stderr: deadlock: no rank can go on, for 0.
// expect-stderr: ranks 1-63 in MPI_Barrier
// expect-stderr: rank 0 in MPI_Recv at many.c:18 from rank 63, tag 7, on MPI_COMM_WORLD
// no-check: hangs on purpose
// Sixty-four ranks that cannot go on are told within a second.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0;
    start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
