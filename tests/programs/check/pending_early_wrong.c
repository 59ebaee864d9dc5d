// ranks: 2
// sleeps: it waits for the report of an early change
// launch: --check=error
// needs: watchpoints
// expect-exit: 122
// expect-stderr: OX-BUF-
// args: irecv read => OX-BUF-EARLY
// args: irecv write => OX-BUF-
// args: isendrecv read => OX-BUF-EARLY
// args: isendrecv write => OX-BUF-
// args: recv_init read => OX-BUF-EARLY
// args: recv_init write => OX-BUF-
// args: precv_init read => OX-BUF-EARLY
// args: precv_init write => OX-BUF-
// args: ibcast read => OX-BUF-EARLY
// args: ibcast write => OX-BUF-
// args: igather read => OX-BUF-EARLY
// args: igather write => OX-BUF-
// args: igatherv read => OX-BUF-EARLY
// args: igatherv write => OX-BUF-
// args: iscatter read => OX-BUF-EARLY
// args: iscatter write => OX-BUF-
// args: iscatterv read => OX-BUF-EARLY
// args: iscatterv write => OX-BUF-
// args: iallgather read => OX-BUF-EARLY
// args: iallgather write => OX-BUF-
// args: iallgatherv read => OX-BUF-EARLY
// args: iallgatherv write => OX-BUF-
// args: ialltoall read => OX-BUF-EARLY
// args: ialltoall write => OX-BUF-
// args: ialltoallv read => OX-BUF-EARLY
// args: ialltoallv write => OX-BUF-
// args: ialltoallw read => OX-BUF-EARLY
// args: ialltoallw write => OX-BUF-
// args: ireduce read => OX-BUF-EARLY
// args: ireduce write => OX-BUF-
// args: iallreduce read => OX-BUF-EARLY
// args: iallreduce write => OX-BUF-
// args: ireduce_scatter read => OX-BUF-EARLY
// args: ireduce_scatter write => OX-BUF-
// args: ireduce_scatter_block read => OX-BUF-EARLY
// args: ireduce_scatter_block write => OX-BUF-
// args: iscan read => OX-BUF-EARLY
// args: iscan write => OX-BUF-
// args: iexscan read => OX-BUF-EARLY
// args: iexscan write => OX-BUF-
// args: bcast_init read => OX-BUF-EARLY
// args: bcast_init write => OX-BUF-
// args: gather_init read => OX-BUF-EARLY
// args: gather_init write => OX-BUF-
// args: allgather_init read => OX-BUF-EARLY
// args: allgather_init write => OX-BUF-
// args: alltoall_init read => OX-BUF-EARLY
// args: alltoall_init write => OX-BUF-
// args: alltoallv_init read => OX-BUF-EARLY
// args: alltoallv_init write => OX-BUF-
// args: reduce_init read => OX-BUF-EARLY
// args: reduce_init write => OX-BUF-
// args: allreduce_init read => OX-BUF-EARLY
// args: allreduce_init write => OX-BUF-
// args: reduce_scatter_init read => OX-BUF-EARLY
// args: reduce_scatter_init write => OX-BUF-
// args: scan_init read => OX-BUF-EARLY
// args: scan_init write => OX-BUF-
// args: ineighbor_allgather read => OX-BUF-EARLY
// args: ineighbor_allgather write => OX-BUF-
// args: ineighbor_allgatherv read => OX-BUF-EARLY
// args: ineighbor_allgatherv write => OX-BUF-
// args: ineighbor_alltoall read => OX-BUF-EARLY
// args: ineighbor_alltoall write => OX-BUF-
// args: ineighbor_alltoallv read => OX-BUF-EARLY
// args: ineighbor_alltoallv write => OX-BUF-
// args: ineighbor_alltoallw read => OX-BUF-EARLY
// args: ineighbor_alltoallw write => OX-BUF-
// args: neighbor_alltoall_init read => OX-BUF-EARLY
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
