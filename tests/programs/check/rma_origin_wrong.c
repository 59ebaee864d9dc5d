// ranks: 2
// launch: --check=error
// one-host: the log of accesses lies in the memory of one host
// expect-exit: 122
// expect-stderr: OX-RMA-ORIGIN: rank 0
// args: put-store
// args: get-store
// args: get-get
// args: get-put
// args: accumulate-store
// args: locked
// Rank 0 uses the buffer of an access too early.
#include "../check.h"
#include <string.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *mode = argv[1];
    int *memory, value = 5, is_locked = !strcmp(mode, "locked");
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 4 * sizeof(int));
    if (!is_locked) MPI_Win_fence(0, win);
    if (rank == 0) {
        if (is_locked) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        if (!strcmp(mode, "put-store") || is_locked) {
            MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
            value = 6;
        }
        if (!strcmp(mode, "get-store")) {
            MPI_Get(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
            value = 6;
        }
        if (!strcmp(mode, "get-get")) {
            MPI_Get(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
            MPI_Get(&value, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
        }
        if (!strcmp(mode, "get-put")) {
            MPI_Get(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
            MPI_Put(&value, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
        }
        if (!strcmp(mode, "accumulate-store")) {
            MPI_Accumulate(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, win);
            value = 6;
        }
        if (is_locked) MPI_Win_unlock(1, win);
    }
    if (!is_locked) MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    return finish();
}
