// ranks: 1 2 3 4 7 8
// expect-exit: 3
// expect-stderr: my own message
// A user-defined error handler may end the job itself.
#include "../check.h"

static void mine(MPI_Comm *comm, int *code, ...) {
    (void)code;
    fprintf(stderr, "my own message\n");
    MPI_Abort(*comm, 3);
}

int main(int argc, char **argv) {
    MPI_Errhandler h;
    int value = 0;
    start(&argc, &argv);
    MPI_Comm_create_errhandler(mine, &h);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
