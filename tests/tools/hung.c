// hung PROGRAM-IS-READY: four ranks that wait for ever, with known messages and receives in their queues. Each rank prints its
// process and the addresses of its buffers and of its window; rank 0 makes the file when all are there.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char longer[300000], shorter[100], in[4][64];

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, parity_rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    MPI_Comm parity, between, freed, strided;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &parity);
    MPI_Comm_set_name(parity, rank % 2 ? "odd" : "even");
    MPI_Comm_rank(parity, &parity_rank);
    MPI_Intercomm_create(parity, 0, MPI_COMM_WORLD, 2 + (rank + 1) % 2, 5, &between);
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Comm_dup(MPI_COMM_WORLD, &strided);
    MPI_Comm_free(&freed);
    MPI_Datatype column;
    MPI_Type_vector(4, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);

    MPI_Win win;
    void *memory;
    MPI_Win_allocate(4096 * (rank + 1), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "halo");

    int next = (rank + 1) % 4;
    MPI_Request requests[8];
    // Sends that nobody receives: a long one waits, short ones arrive.
    MPI_Isend(longer, sizeof longer, MPI_CHAR, next, 11, MPI_COMM_WORLD, &requests[0]);
    MPI_Send(shorter, 8, MPI_CHAR, next, 12, MPI_COMM_WORLD);
    MPI_Send(shorter, 100, MPI_CHAR, next, 13, MPI_COMM_WORLD);
    MPI_Send(shorter, 3, MPI_CHAR, 1 - parity_rank, 14, parity);
    MPI_Issend(shorter, 5, MPI_CHAR, parity_rank, 15, between, &requests[1]);
    // Receives that no message matches, one of which is withdrawn.
    MPI_Irecv(in[0], 64, MPI_CHAR, MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(in[1], 32, MPI_CHAR, 2, 22, MPI_COMM_WORLD, &requests[3]);
    MPI_Irecv(in[2], 1, column, parity_rank, 23, parity, &requests[4]);
    MPI_Irecv(in[3], 16, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, strided, &requests[5]);
    MPI_Cancel(&requests[3]);
    MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    printf("rank %d pid %d longer %p shorter %p in %p memory %p\n", rank, getpid(), (void *)longer, (void *)shorter, (void *)in, memory);
    fflush(stdout);

    // All messages have come to their queues when each rank has seen the last one that is sent to it.
    MPI_Probe(1 - parity_rank, 14, parity, MPI_STATUS_IGNORE);
    MPI_Probe(parity_rank, 15, between, MPI_STATUS_IGNORE);
    MPI_Probe((rank + 3) % 4, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fclose(fopen(argv[1], "w"));
    MPI_Recv(in[1], 48, MPI_CHAR, next, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
