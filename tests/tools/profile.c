// A pattern of calls, messages and bytes that check-profile.py knows. The words in the comments name the places.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

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

static void accesses(int rank, int size) {
    int next = (rank + 1) % size, own[3] = {rank, rank, 0}, *memory;
    MPI_Win win;
    MPI_Win_allocate(3 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(own, 2, MPI_INT, next, 0, 2, MPI_INT, win); // put
    MPI_Accumulate(own, 1, MPI_INT, next, 2, 1, MPI_INT, MPI_REPLACE, win); // accumulate
    MPI_Win_fence(0, win);
    MPI_Get(own, 3, MPI_INT, next, 0, 3, MPI_INT, win); // get
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    if (own[0] != rank || own[2] != rank)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

// Persistent operations, a partitioned message, and calls that move bytes when they are started.
static void kept(int rank, int size) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char *out = calloc(1, 2000), *in = malloc(2000), *root = calloc(1, 48);
    MPI_Request both[2], one;
    MPI_Send_init(out, 40, MPI_CHAR, next, 5, MPI_COMM_WORLD, &both[0]); // send-init
    MPI_Recv_init(in, 40, MPI_CHAR, before, 5, MPI_COMM_WORLD, &both[1]); // recv-init
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, both); // start-messages
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    MPI_Bcast_init(root, 48, MPI_CHAR, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &one); // bcast-init
    for (int i = 0; i < 3; i++) {
        MPI_Start(&one); // start-bcast
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&one);
    MPI_Psend_init(out, 4, 500, MPI_CHAR, next, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
    MPI_Precv_init(in, 2, 1000, MPI_CHAR, before, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
    MPI_Startall(2, both); // start-parts
    for (int part = 0; part < 4; part++)
        MPI_Pready(part, both[0]); // ready
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    free(out);
    free(in);
    free(root);
}

// Many short calls, of which not each is timed; one of those of a place waits for long.
static void many(int rank, int size) {
    int flag, word = 0;
    for (int i = 0; i < 10000; i++)
        MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); // short
    if (rank > 0 && rank + 1 == size) {
        usleep(100000);
        MPI_Send(&word, 1, MPI_INT, 0, 8, MPI_COMM_WORLD); // late
    }
    for (int i = 0; rank == 0 && i < 300; i++) {
        int from = size > 1 && i == 250 ? size - 1 : MPI_PROC_NULL;
        MPI_Recv(&word, 1, MPI_INT, from, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // mixed
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
    accesses(rank, size);
    kept(rank, size);
    many(rank, size);
    MPI_Finalize();
    return all == size ? 0 : 1;
}
