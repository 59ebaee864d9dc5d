// ranks: 3
// launch: --check=error
// expect-exit: nonzero
// expect-stderr: OX-COLL-OP: rank 2: called MPI_
// args: allreduce-op
// args: iallreduce-op
// args: reduce-op
// args: scan-op
// args: exscan-op
// Rank 2 gives another operation.
#include "coll_modes.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    call(argv[1], rank == 2);
    return finish();
}
