// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-REQUEST: rank
// args: send_init
// args: recv_init
// args: allreduce_init
// args: psend_init
// args: precv_init
// A persistent request is never freed.
#include "left.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    leave_request(argv[1], 2);
    return finish();
}
