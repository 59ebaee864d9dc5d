// ranks: 2
// launch: --check=error
// needs: watchpoints
// expect-exit: 122
// expect-stderr: OX-BUF-
// args: irecv read => pending_early_wrong.c:83
// args: irecv write => OX-BUF-
// args: isendrecv read => pending_early_wrong.c:83
// args: isendrecv write => OX-BUF-
// args: recv_init read => pending_early_wrong.c:83
// args: recv_init write => OX-BUF-
// args: precv_init read => pending_early_wrong.c:83
// args: precv_init write => OX-BUF-
// args: ibcast read => pending_early_wrong.c:83
// args: ibcast write => OX-BUF-
// args: igather read => pending_early_wrong.c:83
// args: igather write => OX-BUF-
// args: igatherv read => pending_early_wrong.c:83
// args: igatherv write => OX-BUF-
// args: iscatter read => pending_early_wrong.c:83
// args: iscatter write => OX-BUF-
// args: iscatterv read => pending_early_wrong.c:83
// args: iscatterv write => OX-BUF-
// args: iallgather read => pending_early_wrong.c:83
// args: iallgather write => OX-BUF-
// args: iallgatherv read => pending_early_wrong.c:83
// args: iallgatherv write => OX-BUF-
// args: ialltoall read => pending_early_wrong.c:83
// args: ialltoall write => OX-BUF-
// args: ialltoallv read => pending_early_wrong.c:83
// args: ialltoallv write => OX-BUF-
// args: ialltoallw read => pending_early_wrong.c:83
// args: ialltoallw write => OX-BUF-
// args: ireduce read => pending_early_wrong.c:83
// args: ireduce write => OX-BUF-
// args: iallreduce read => pending_early_wrong.c:83
// args: iallreduce write => OX-BUF-
// args: ireduce_scatter read => pending_early_wrong.c:83
// args: ireduce_scatter write => OX-BUF-
// args: ireduce_scatter_block read => pending_early_wrong.c:83
// args: ireduce_scatter_block write => OX-BUF-
// args: iscan read => pending_early_wrong.c:83
// args: iscan write => OX-BUF-
// args: iexscan read => pending_early_wrong.c:83
// args: iexscan write => OX-BUF-
// args: bcast_init read => pending_early_wrong.c:83
// args: bcast_init write => OX-BUF-
// args: gather_init read => pending_early_wrong.c:83
// args: gather_init write => OX-BUF-
// args: allgather_init read => pending_early_wrong.c:83
// args: allgather_init write => OX-BUF-
// args: alltoall_init read => pending_early_wrong.c:83
// args: alltoall_init write => OX-BUF-
// args: alltoallv_init read => pending_early_wrong.c:83
// args: alltoallv_init write => OX-BUF-
// args: reduce_init read => pending_early_wrong.c:83
// args: reduce_init write => OX-BUF-
// args: allreduce_init read => pending_early_wrong.c:83
// args: allreduce_init write => OX-BUF-
// args: reduce_scatter_init read => pending_early_wrong.c:83
// args: reduce_scatter_init write => OX-BUF-
// args: scan_init read => pending_early_wrong.c:83
// args: scan_init write => OX-BUF-
// args: ineighbor_allgather read => pending_early_wrong.c:83
// args: ineighbor_allgather write => OX-BUF-
// args: ineighbor_allgatherv read => pending_early_wrong.c:83
// args: ineighbor_allgatherv write => OX-BUF-
// args: ineighbor_alltoall read => pending_early_wrong.c:83
// args: ineighbor_alltoall write => OX-BUF-
// args: ineighbor_alltoallv read => pending_early_wrong.c:83
// args: ineighbor_alltoallv write => OX-BUF-
// args: ineighbor_alltoallw read => pending_early_wrong.c:83
// args: ineighbor_alltoallw write => OX-BUF-
// args: neighbor_alltoall_init read => pending_early_wrong.c:83
// args: neighbor_alltoall_init write => OX-BUF-
// A buffer that an operation writes is used before the operation is complete.
#include "pending.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    prepare();
    begin(argv[1], out, in);
    if (is(argv[2], "read")) printf("%d\n", in[2]);
    if (is(argv[2], "write")) in[2] = 1337;
    end(argv[1]);
    return leave();
}
