// ranks: 2
// launch: --check=error
// The calls of rma_store_locked_wrong.c, with stores to other memory, and before and after the updates.
#include "rma_store_locked.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (unsigned at = 0; at < sizeof ALL / sizeof *ALL; at++) act(ALL[at], 0);
    return finish();
}
