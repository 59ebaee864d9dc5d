// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-BUF-SEND: rank
// args: isend
// args: issend
// args: ibsend
// args: isendrecv
// args: send_init
// args: ssend_init
// args: psend_init
// args: ibcast
// args: igather
// args: igatherv
// args: iscatter
// args: iscatterv
// args: iallgather
// args: iallgatherv
// args: ialltoall
// args: ialltoallv
// args: ialltoallw
// args: ireduce
// args: iallreduce
// args: ireduce_scatter
// args: ireduce_scatter_block
// args: iscan
// args: iexscan
// args: bcast_init
// args: gather_init
// args: allgather_init
// args: alltoall_init
// args: alltoallv_init
// args: reduce_init
// args: allreduce_init
// args: reduce_scatter_init
// args: scan_init
// args: ineighbor_allgather
// args: ineighbor_allgatherv
// args: ineighbor_alltoall
// args: ineighbor_alltoallv
// args: ineighbor_alltoallw
// args: neighbor_alltoall_init
// A buffer that an operation reads is changed before the operation is complete.
#include "pending.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    prepare();
    begin(argv[1], out, in);
    out[2] = 1337;
    end(argv[1]);
    return leave();
}
