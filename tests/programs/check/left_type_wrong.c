// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-TYPE: rank
// args: contiguous
// args: vector
// args: hvector
// args: indexed
// args: hindexed
// args: indexed-block
// args: struct
// args: resized
// args: subarray
// args: darray
// args: dup-type
// A datatype is never freed.
#include "left.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    leave_type(argv[1], 1);
    return finish();
}
