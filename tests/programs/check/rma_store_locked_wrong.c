// ranks: 2
// launch: --check=error
// one-host: the log of accesses lies in the memory of one host
// expect-exit: 122
// expect-stderr: OX-RMA-STORE: rank 0: rank 1 has stored to bytes 4 to 8 of its memory
// args: put
// args: accumulate
// args: get-accumulate
// args: fetch
// Rank 1 stores, while the window is locked, where rank 0 updates its memory.
#include "rma_store_locked.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    act(argv[1], 1);
    return finish();
}
