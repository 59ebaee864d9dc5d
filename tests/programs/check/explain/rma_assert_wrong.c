// ranks: 2
// one-host: the log of accesses lies in the memory of one host
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-RMA-ASSERT: rank 1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    *memory = 0;
    MPI_Win_fence(0, win);
    *memory = rank;
    MPI_Win_fence(MPI_MODE_NOSTORE, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
