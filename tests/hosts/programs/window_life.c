// Rank 0 puts into the memory of the last rank for ever.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    enum { BYTES = 1 << 20 };
    int rank, size;
    char *base, *bytes = calloc(1, BYTES);
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(0, win);
    for (long i = 0; rank == 0; i++) {
        MPI_Put(bytes, BYTES, MPI_BYTE, size - 1, 0, BYTES, MPI_BYTE, win);
        MPI_Win_flush(size - 1, win);
        if (i == 10) printf("rank 0 puts\n"), fflush(stdout);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
}
