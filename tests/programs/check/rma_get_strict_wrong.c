// ranks: 2
// launch: --check=strict,error
// one-host: the log of accesses lies in the memory of one host
// expect-exit: 122
// expect-stderr: OX-RMA-STORE: rank
// Rank 1 stores what rank 0 gets in the same epoch: in strict mode that is told.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int *memory, value = 5;
    MPI_Win win;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[1] = 0;
    MPI_Win_fence(0, win);
    if (rank == 0) MPI_Get(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
    if (rank == 1) memory[1] = 42;
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    return finish();
}
