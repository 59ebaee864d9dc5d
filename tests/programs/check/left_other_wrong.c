// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: not 
// args: op => OX-OBJ-OP: rank
// args: group => OX-OBJ-GROUP: rank
// args: group-incl => OX-OBJ-GROUP: rank
// args: win-create => OX-OBJ-WIN: rank
// args: win-allocate => OX-OBJ-WIN: rank
// args: win-dynamic => OX-OBJ-WIN: rank
// args: file => OX-OBJ-FILE: rank
// Another object is never freed.
#include "left.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    leave_other(argv[1], 1);
    return finish();
}
