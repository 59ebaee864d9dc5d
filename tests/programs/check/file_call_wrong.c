// ranks: 2 4
// one-host: a call that is missing on another host is not told when the file is closed
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-COLL-CALL: rank
// args: write-all
// args: read-at-all
// args: iwrite-all
// args: order
// args: sync
// Some ranks do not make a collective call on a file, or another one.
#include "file.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    together(argv[1], 1);
    return finish();
}
