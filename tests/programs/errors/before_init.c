// ranks: 1 2 3 4 7 8
// expect-exit: 16
// expect-stderr: MPI_Comm_rank
// expect-stderr: before MPI_Init
// A call before MPI_Init that is not always allowed prints an error and ends the program.
#include <mpi.h>
#include <stdio.h>

int main(void) {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "went on\n");
    return 0;
}
