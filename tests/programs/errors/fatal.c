// ranks: 1 2 3 4 7 8
// expect-exit: 6
// expect-stderr: MPI_Send
// expect-stderr: 4711
// expect-stderr: MPI_ERR_RANK
// expect-stderr: rank 0
// The default handler: a message that names the rank, the call, what was wrong and the class; then all ranks stop, also
// those that wait for ever, and the exit status is the error class.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0;
    start(&argc, &argv);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 4711, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fprintf(stderr, "went on after a fatal error\n");
    return 0;
}
