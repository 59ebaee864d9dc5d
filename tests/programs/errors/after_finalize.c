// ranks: 1 2 3 4 7 8
// expect-exit: 16
// expect-stderr: MPI_Send
// expect-stderr: after MPI_Finalize
// A call after MPI_Finalize prints an error and ends the program with a failure.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int value = 0;
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    fprintf(stderr, "went on\n");
    return 0;
}
