// ranks: 2 4
// launch: --check=error
// expect-exit: 122
// args: iwrite => OX-BUF-SEND: rank
// args: iwrite-all => OX-BUF-SEND: rank
// args: split => OX-BUF-SEND: rank
// args: iread => OX-BUF-RECV: rank
// args: overlap => OX-BUF-OVERLAP: rank
// args: mode => OX-COLL-ARGS: rank 0: rank 1 passes another access mode to MPI_File_open
// Buffers of accesses that change before they are complete, and an access mode that is not that of rank 0.
#include "file.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (is(argv[1], "overlap")) overlap(1);
    else if (is(argv[1], "mode")) differ(1);
    else pending(argv[1], 1);
    return finish();
}
