// A pattern of calls, messages and bytes that check-profile.py knows. The words in the comments name the places.
#include <mpi.h>
#include <stdlib.h>

static void ring(int rank, int size, int bytes) {
    char *out = calloc(1, bytes), *in = malloc(bytes);
    MPI_Request request;
    MPI_Irecv(in, bytes, MPI_CHAR, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &request); // irecv
    MPI_Send(out, bytes, MPI_CHAR, (rank + 1) % size, 3, MPI_COMM_WORLD);                  // send
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                                // wait
    free(in);
    free(out);
}

static void to_first(int rank, int size) {
    double value = rank, sum = 0;
    if (rank > 0) {
        MPI_Send(&value, 1, MPI_DOUBLE, 0, rank, MPI_COMM_WORLD); // send-first
        return;
    }
    for (int from = 1; from < size; from++) {
        MPI_Recv(&value, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // recv-any
        sum += value;
    }
}

int main(int argc, char **argv) {
    int rank, size, one = 1, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 10; i++)
        ring(rank, size, 100);
    ring(rank, size, 100000);
    to_first(rank, size);
    int *blocks = calloc(2 * size, sizeof(int));
    for (int i = 0; i < 7; i++)
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); // allreduce
    MPI_Alltoall(blocks, 1, MPI_INT, blocks + size, 1, MPI_INT, MPI_COMM_WORLD); // alltoall
    MPI_Bcast(blocks, 4, MPI_INT, 0, MPI_COMM_WORLD); // bcast
    MPI_Barrier(MPI_COMM_WORLD); // barrier
    free(blocks);
    MPI_Finalize();
    return all == size ? 0 : 1;
}
