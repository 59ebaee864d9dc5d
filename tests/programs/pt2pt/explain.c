// ranks: 2
// no-valgrind: it tells how messages go, which is not the same in valgrind
// env: OXMPI_EXPLAIN=1
// expect-stderr: process 0: messages to process 1 go through a ring in shared memory: eager up to 
// expect-stderr: process 0: messages to process 1: 5000 bytes, eager, because it is short
// expect-stderr: process 0: messages to process 1: 100000 bytes, offered (rendezvous), because it is longer than the eager limit
// expect-stderr: process 0: messages to process 1: 100 bytes, offered with its bytes, because synchronous mode
// expect-stderr: process 0: long messages from process 1: 100000 bytes, 
// expect-stderr: as packets, because the sender's buffer has many short pieces
// one-host: it reads the reasons for a ring
// With OXMPI_EXPLAIN=1 process 0 explains how messages to and from each other process are sent, and why.
#include "../check.h"

static char buffer[200000];

int main(int argc, char **argv) {
    int rank;
    MPI_Datatype pieces;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(50000, 1, 2, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    if (rank == 0) {
        MPI_Send(buffer, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Send(buffer, 5000, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Ssend(buffer, 100, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Send(buffer, 100000, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, 100000, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, 50000, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buffer, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, 5000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, 100000, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, 100000, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        MPI_Send(buffer, 1, pieces, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Type_free(&pieces);
    MPI_Finalize();
    return 0;
}
