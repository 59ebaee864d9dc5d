// Updates of the memory of rank 1, which stores to it in the same epoch of locks.
#include "../check.h"

CHECK_UNUSED static const char *const ALL[] = {"put", "accumulate", "get-accumulate", "fetch"};

static void act(const char *what, int wrong) {
    int *memory, value = 5, result = -1;
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 4; i++) memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (rank == 1 && !wrong) memory[1] = 42;
    if (!wrong) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(20000);
        if (!strcmp(what, "put")) MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
        if (!strcmp(what, "accumulate")) MPI_Accumulate(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, win);
        if (!strcmp(what, "get-accumulate"))
            MPI_Get_accumulate(&value, 1, MPI_INT, &result, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, win);
        if (!strcmp(what, "fetch")) MPI_Fetch_and_op(&value, &result, MPI_INT, 1, 1, MPI_SUM, win);
    }
    // Others than what is updated may be stored to.
    if (rank == 1) memory[wrong ? 1 : 2] = 42;
    // The target calls nothing until the update has come.
    if (rank == 1) usleep(100000);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && !wrong) CHECK_EQ(memory[1], !strcmp(what, "put") ? 5 : 47);
    MPI_Win_free(&win);
}
