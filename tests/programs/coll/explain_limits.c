// ranks: 2
// env: OXMPI_EXPLAIN=1
// env: OXMPI_TUNING=eager=2048,bcast2=2048,gather2=65536
// expect-stderr: the limits of lengths are those that oxmpi tune measured
// expect-stderr: MPI_Bcast: 2 ranks, 2048 bytes in all: over the board, with direct copies
// expect-stderr: MPI_Gather: 2 ranks, 32768 bytes a block: over the board, in pieces
// expect-stderr: eager up to 2048 bytes
// one-host: it reads the reasons for a board
// Limits that `oxmpi tune` has found, or the user gives, are those of all ranks, and OXMPI_EXPLAIN shows them.
#include "../check.h"

int main(int argc, char **argv) {
    int rank, size;
    static char from[32768], to[2 * 32768];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < (int)sizeof from; i++) from[i] = (char)(i % 101 + rank);
    MPI_Gather(from, sizeof from, MPI_CHAR, to, sizeof from, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < (int)sizeof to; i++)
        CHECK_EQ(to[i], (char)(i % (int)sizeof from % 101 + i / (int)sizeof from));
    MPI_Bcast(from, 2048, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2048; i++) CHECK_EQ(from[i], (char)(i % 101));
    if (rank == 0) MPI_Send(to, 4096, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(to, 4096, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4096; i++) CHECK_EQ(to[i], (char)(i % 101));
    MPI_Finalize();
    return 0;
}
