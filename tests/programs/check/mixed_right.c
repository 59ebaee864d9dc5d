// ranks: 3
// launch: --check=error
// The same without mistakes, and an operation with a request in an epoch of fences, which only strict checks tell.
#include "mixed.h"

static void put_in_a_fence(void) {
    int memory[2] = {0, 0}, value = rank + 1;
    MPI_Win win;
    MPI_Request request;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Rput(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Raccumulate(&value, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK_EQ(memory[0], (rank + size - 1) % size + 1);
    CHECK_EQ(memory[1], (rank + size - 1) % size + 1);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int i = 0; i < (int)(sizeof ALL / sizeof *ALL); i++) act(ALL[i], 0);
    put_in_a_fence();
    return finish();
}
