// ranks: 3
// launch: --check=error
// expect-exit: 122
// args: columns => OX-BUF-OVERLAP: rank 1: MPI_Irecv writes a buffer while MPI_Irecv writes it
// args: column => OX-BUF-OVERLAP: rank 1: MPI_Irecv writes a buffer while MPI_Irecv writes it
// args: replace => OX-BUF-OVERLAP: ranks 0-2: MPI_Sendrecv_replace writes a buffer while MPI_Irecv writes it
// args: replaces => OX-BUF-OVERLAP: ranks 0-2: MPI_Isendrecv_replace writes a buffer while MPI_Irecv writes it
// args: graph => OX-COLL-ARGS: rank 1: called MPI_Graph_create with other arguments
// args: group => OX-COLL-ARGS: rank 1: called MPI_Comm_create with other arguments
// args: member => OX-COLL-ARGS: rank 1: called MPI_Comm_create with other arguments
// args: close => OX-REQ-ACTIVE: ranks 0-2: MPI_File_close of
// args: gaps => OX-FILE-CONFLICT: rank
// Buffers with gaps that overlap, arguments of groups and graphs that differ, a file that is closed too early.
#include "mixed.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    act(argv[1], 1);
    return finish();
}
