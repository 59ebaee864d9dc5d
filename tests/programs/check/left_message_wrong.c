// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-MATCH-UNRECEIVED: rank 1: 
// args: send
// args: bsend
// args: isend
// args: sendrecv
// args: persistent
// args: partitioned
// A message is never received.
#include "left.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    leave_message(argv[1], 1);
    return finish();
}
