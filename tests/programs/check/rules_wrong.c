// ranks: 4
// launch: --check=error
// one-host: the log of accesses lies in the memory of one host
// expect-exit: nonzero
// args: rsend => OX-SEND-READY: rank 0: a send in ready mode (MPI_Rsend) to rank 1 with tag 4
// args: irsend => OX-SEND-READY: rank 0
// args: rsend-init => OX-SEND-READY: rank 0
// args: unstarted => OX-REQ-UNSTARTED: ranks 0-3: waited for the request of MPI_Send_init
// args: freed => OX-MATCH-UNRECEIVED: rank 1: a message of 4 bytes from rank 0 with tag 3
// args: inter-root => OX-COLL-ROOT: rank 3: called MPI_Ibcast (root 2)
// args: inter-op => OX-COLL-OP: rank 2: called MPI_Allreduce (MPI_PROD)
// args: inter-call => OX-COLL-CALL: rank
// args: merge => OX-COLL-ARGS: rank 2: called MPI_Intercomm_merge with another value of high
// args: edges => OX-COLL-NEIGHBORS: rank 2: MPI_Dist_graph_create_adjacent on MPI_COMM_WORLD: rank 2 gives 1 edges to rank 2
// args: nostore => OX-RMA-ASSERT: rank 1: gave MPI_MODE_NOSTORE
// args: noput => OX-RMA-ASSERT: rank 2: gave MPI_MODE_NOPUT
// args: post-noput => OX-RMA-ASSERT: rank 1: gave MPI_MODE_NOPUT
// args: noprecede => OX-RMA-ASSERT: rank 3: gave other assertions
// args: stored => OX-RMA-STORE: rank 0: rank 1 has stored to bytes 0 to 4
// args: file-name => OX-COLL-ARGS: rank 1: gives another file to MPI_File_open than rank 0
// args: idup => the communicator cannot be used yet: the request of the call that makes it is not complete
// Rules that are broken: ready sends, requests that were never started, calls between groups, edges, assertions.
#include "rules.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    act(argv[1], 1);
    return finish();
}
