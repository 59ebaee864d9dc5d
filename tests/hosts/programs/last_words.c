// last_words [LINES]: the last rank writes so many lines (3,000) and aborts; all others wait for a message of it.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size, nothing;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        int lines = argc > 1 ? atoi(argv[1]) : 3000;
        for (int i = 1; i <= lines; i++) printf("line %d of those that rank %d writes before it aborts\n", i, rank);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Recv(&nothing, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
