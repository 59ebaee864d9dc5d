// ranks: 3
// one-host: deadlocks between hosts are not looked for
// launch: --check=error
// expect-exit: 121
// expect-stderr: OX-COLL-OP: rank 2: called MPI_Allreduce (MPI_SUM) where rank 0 of the communicator called MPI_Allreduce (an operation of the program)
// expect-stderr: deadlock:
// Rank 2 gives a predefined operation and the others one of the program: it is told, although the job ends by a deadlock.
#include "coll_modes.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    call("user-op", rank == 2);
    return finish();
}
