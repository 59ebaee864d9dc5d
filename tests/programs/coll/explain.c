// ranks: 2 4
// no-valgrind: it tells how messages go, which is not the same in valgrind
// env: OXMPI_EXPLAIN=1
// expect-stderr: rank 0 of MPI_COMM_WORLD: a board: 
// expect-stderr: rank 0 of MPI_COMM_WORLD: MPI_Allreduce: 
// expect-stderr: 8 bytes in all: over the board, in pieces, because one cache line a rank holds the operands
// expect-stderr: over the board, in pieces, because to combine all operands costs a rank less than a second round
// expect-stderr: over the board, in pieces, because operands are combined in the order of the blocking operation
// expect-stderr: rank 0 of MPI_COMM_WORLD: MPI_Ibarrier: 
// expect-stderr: rank 0 of MPI_COMM_WORLD: no board for nonblocking operations yet, because a blocking one makes it
// expect-stderr: rank 0 of MPI_COMM_WORLD: MPI_Barrier_init: 
// expect-stderr: rank 0 of reversed: no board yet, because 
// expect-stderr: rank 0 of reversed: MPI_Barrier: 
// expect-stderr: dissemination, because 
// one-host: it reads the reasons for a board
// With OXMPI_EXPLAIN=1 rank 0 of each communicator says on stderr which way each operation goes, and why.
#include "../check.h"

int main(int argc, char **argv) {
    int rank, size;
    static double from[512], to[512];
    MPI_Comm reversed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 512; i++) from[i] = i;
    MPI_Request requests[2];
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[1]);
    MPI_Allreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(from, to, 512, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(to[511] == 511.0 * size);
    MPI_Iallreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    // Another communicator, and another rank that speaks.
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_set_name(reversed, "reversed");
    MPI_Barrier(reversed);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
