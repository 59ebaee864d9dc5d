// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: 1 communicator of MPI_
// args: dup
// args: idup
// args: split
// args: split-type
// args: create
// args: create-group
// args: cart
// args: cart-sub
// args: graph
// args: dist-graph
// args: inter
// args: merge
// A communicator is never freed.
#include "left.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    leave_comm(argv[1], 1);
    return finish();
}
