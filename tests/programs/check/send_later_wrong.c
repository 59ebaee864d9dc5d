// ranks: 2 4
// launch: --check=strict
// expect-exit: 121
// expect-stderr: deadlock: no rank can go on
// expect-stderr: in MPI_Wait
// args: isend
// args: persistent
// Every rank waits for its nonblocking or persistent send before it receives, which strict checks do not let end.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = rank, other, next = (rank + 1) % size;
    MPI_Request request;
    if (!strcmp(argv[1], "isend")) {
        MPI_Isend(&value, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &request);
    } else {
        MPI_Send_init(&value, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&other, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
