// ranks: 2 4
// launch: --check=strict
// expect-exit: 121
// expect-stderr: OX-SEND-UNSAFE: ranks 0
// expect-stderr: deadlock
// expect-stderr: in MPI_Send
// Every rank sends before it receives: that works only where messages are stored, so strict checks let no send end early.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = rank, other;
    MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Recv(&other, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
