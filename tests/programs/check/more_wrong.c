// ranks: 3
// one-host: the buffers of one-sided operations are not watched where agents carry them out
// launch: --check=error
// expect-exit: 122
// args: bcast => OX-COLL-CALL: rank
// args: scan => OX-COLL-CALL: rank
// args: split-type => OX-COLL-ARGS: rank
// args: reduce-scatter => OX-COLL-COUNT: rank
// args: rput => OX-BUF-SEND: rank
// args: rget => OX-BUF-RECV: rank
// args: send => OX-RMA-ORIGIN: rank
// args: mprobe => OX-MATCH-UNRECEIVED: rank
// A persistent collective operation that only rank 0 starts, arguments that differ, buffers of one-sided operations that are
// used, a message that was only probed.
#include "more.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    act(argv[1], 1);
    return finish();
}
