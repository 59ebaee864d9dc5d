// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-REQ-ACTIVE: rank
// args: isend
// args: issend
// args: irecv
// args: ibarrier
// args: ibcast
// args: iallreduce
// args: igather
// args: ialltoall
// args: send_init
// args: recv_init
// args: allreduce_init
// args: psend_init
// args: precv_init
// args: rput
// args: rget
// args: iwrite
// A request is never completed.
#include "left.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    leave_request(argv[1], 1);
    return finish();
}
