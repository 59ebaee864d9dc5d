// ranks: 3
// launch: --check=error
// one-host: the log of accesses lies in the memory of one host
// expect-exit: 122
// expect-stderr: OX-RMA-CONFLICT: rank
// args: put-put
// args: put-get
// args: put-accumulate
// args: operations
// args: types
// args: one-origin
// args: start
// args: lock
// args: lock-all
// args: flush
// args: dynamic
// Two accesses of one epoch use the same memory of rank 0.
#include "../check.h"
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *mode = argv[1];
    int *memory, one = rank, two = rank;
    float real = 1;
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 4 * sizeof(int));
    MPI_Win_fence(0, win);
    if (!strcmp(mode, "put-put") && rank != 0) MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    if (!strcmp(mode, "put-get")) {
        if (rank == 1) MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        if (rank == 0) MPI_Get(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    }
    if (!strcmp(mode, "put-accumulate")) {
        if (rank == 1) MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        if (rank == 2) MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    }
    if (!strcmp(mode, "operations") && rank != 0) {
        MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, rank == 1 ? MPI_SUM : MPI_PROD, win);
    }
    if (!strcmp(mode, "types")) {
        if (rank == 1) MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
        if (rank == 2) MPI_Accumulate(&real, 1, MPI_FLOAT, 0, 1, 1, MPI_FLOAT, MPI_SUM, win);
    }
    if (!strcmp(mode, "one-origin") && rank == 1) {
        MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Put(&two, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);

    if (!strcmp(mode, "start")) {
        MPI_Group all, origins, targets;
        int first = 0;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &first, &targets);
        MPI_Group_excl(all, 1, &first, &origins);
        if (rank == 0) {
            MPI_Win_post(origins, 0, win);
            MPI_Win_wait(win);
        } else {
            MPI_Win_start(targets, 0, win);
            MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
        MPI_Group_free(&all);
        MPI_Group_free(&origins);
        MPI_Group_free(&targets);
    }
    // The ranks do not communicate after their access before the others have made theirs.
    if (!strcmp(mode, "lock") && rank != 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        usleep(500000);
    }
    if (!strcmp(mode, "lock-all")) {
        MPI_Win_lock_all(0, win);
        if (rank == 1) MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        if (rank == 2) MPI_Get(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_unlock_all(win);
        usleep(500000);
    }
    if (!strcmp(mode, "flush")) {
        MPI_Win_lock_all(0, win);
        if (rank != 0) MPI_Put(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        usleep(500000);
        MPI_Win_unlock_all(win);
    }
    if (!strcmp(mode, "dynamic")) {
        MPI_Win any;
        MPI_Aint at;
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &any);
        MPI_Win_attach(any, memory, 4 * sizeof(int));
        MPI_Get_address(memory, &at);
        MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
        MPI_Win_fence(0, any);
        if (rank != 0) MPI_Put(&one, 1, MPI_INT, 0, at, 1, MPI_INT, any);
        MPI_Win_fence(0, any);
        MPI_Win_detach(any, memory);
        MPI_Win_free(&any);
    }
    MPI_Win_free(&win);
    return finish();
}
