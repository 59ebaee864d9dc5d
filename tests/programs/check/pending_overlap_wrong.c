// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-BUF-OVERLAP: rank
// args: isend
// args: issend
// args: ibsend
// args: irecv
// args: isendrecv
// args: send_init
// args: ssend_init
// args: recv_init
// args: psend_init
// args: precv_init
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
// Another receive uses the buffer of an operation under way.
#include "pending.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    prepare();
    begin(argv[1], out, in);
    MPI_Request more[2];
    MPI_Irecv(out + 7, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &more[0]);
    MPI_Irecv(in + 7, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &more[1]);
    for (int i = 0; i < 2; i++) MPI_Send(&rank, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
    MPI_Waitall(2, more, MPI_STATUSES_IGNORE);
    end(argv[1]);
    return leave();
}
