// ranks: 3
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-TYPE-COLL: rank
// expect-stderr: on MPI_COMM_WORLD)
// args: bcast
// args: ibcast
// args: gather
// args: scatter
// args: gatherv
// args: scatterv
// args: allgather
// args: allgatherv
// args: alltoall
// args: alltoallv
// args: allreduce
// args: reduce
// args: scan
// args: reduce_scatter
// Rank 2 gives another type of the same length.
#include "coll_modes.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    call(argv[1], rank == 2);
    return finish();
}
