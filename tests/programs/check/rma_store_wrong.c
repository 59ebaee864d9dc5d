// ranks: 2
// launch: --check=error
// one-host: the log of accesses lies in the memory of one host
// expect-exit: 122
// expect-stderr: OX-RMA-STORE: rank
// expect-stderr: rank 1 has stored to bytes 4 to 8 of its memory
// args: before
// args: after
// args: created
// args: exposed
// Rank 1 stores where rank 0 puts in the same epoch.
#include "../check.h"
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *mode = argv[1];
    int own[4] = {0}, *memory = own, value = 5;
    MPI_Win win;
    if (!strcmp(mode, "created")) {
        MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
        MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        memset(memory, 0, sizeof own);
    }
    if (!strcmp(mode, "exposed")) {
        MPI_Group all, other;
        int peer = 1 - rank;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &peer, &other);
        if (rank == 1) {
            MPI_Win_post(other, 0, win);
            memory[1] = 42;
            MPI_Win_wait(win);
        } else {
            MPI_Win_start(other, 0, win);
            usleep(100000);
            MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
        MPI_Group_free(&all);
        MPI_Group_free(&other);
    } else {
        MPI_Win_fence(0, win);
        int is_late = strcmp(mode, "after") ? 0 : 1;
        if (rank == is_late) usleep(100000);
        if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
        if (rank == 1) memory[1] = 42;
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
    return finish();
}
