// ranks: 2 3 4 8
// timeout: 60
// Persistent collectives over the memory that the ranks of a node share: each rank starts them in its own order, all at
// once, with blocking and nonblocking ones in between; reductions give the bits of the blocking ones; the communicator is
// freed before they start; far more are made than a process may have boards, and many are made and freed one after another.
#include "coll.h"

enum { OPERATIONS = 11, MOST = 3000, ROUNDS = 20, MANY = 700, FREED = 1500 };
static double mine[MOST * 8];
static double expected[OPERATIONS][MOST * 8], got[OPERATIONS][MOST * 8];

static int results(int operation, int n) {
    switch (operation) {
        case 0: return 0;
        case 2: case 4: case 5: return n * size;
        default: return n;
    }
}

static void blocking(int operation, int n, int root, double *to, MPI_Comm comm) {
    int counts[64];
    for (int i = 0; i < size; i++) counts[i] = n;
    switch (operation) {
        case 0: OK(MPI_Barrier(comm)); break;
        case 1: OK(MPI_Bcast(to, n, MPI_DOUBLE, root, comm)); break;
        case 2: OK(MPI_Gather(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, comm)); break;
        case 3: OK(MPI_Scatter(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, comm)); break;
        case 4: OK(MPI_Allgather(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm)); break;
        case 5: OK(MPI_Alltoall(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm)); break;
        case 6: OK(MPI_Reduce(mine, to, n, MPI_DOUBLE, MPI_SUM, root, comm)); break;
        case 7: OK(MPI_Allreduce(mine, to, n, MPI_DOUBLE, MPI_SUM, comm)); break;
        case 8: OK(MPI_Reduce_scatter_block(mine, to, n, MPI_DOUBLE, MPI_SUM, comm)); break;
        case 9: OK(MPI_Reduce_scatter(mine, to, counts, MPI_DOUBLE, MPI_SUM, comm)); break;
        default: OK(MPI_Scan(mine, to, n, MPI_DOUBLE, MPI_SUM, comm));
    }
}

static void initialize(int operation, int n, int root, double *to, MPI_Comm comm, MPI_Request *r) {
    int counts[64];
    for (int i = 0; i < size; i++) counts[i] = n;
    switch (operation) {
        case 0: OK(MPI_Barrier_init(comm, MPI_INFO_NULL, r)); break;
        case 1: OK(MPI_Bcast_init(to, n, MPI_DOUBLE, root, comm, MPI_INFO_NULL, r)); break;
        case 2: OK(MPI_Gather_init(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, comm, MPI_INFO_NULL, r)); break;
        case 3: OK(MPI_Scatter_init(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, root, comm, MPI_INFO_NULL, r)); break;
        case 4: OK(MPI_Allgather_init(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm, MPI_INFO_NULL, r)); break;
        case 5: OK(MPI_Alltoall_init(mine, n, MPI_DOUBLE, to, n, MPI_DOUBLE, comm, MPI_INFO_NULL, r)); break;
        case 6: OK(MPI_Reduce_init(mine, to, n, MPI_DOUBLE, MPI_SUM, root, comm, MPI_INFO_NULL, r)); break;
        case 7: OK(MPI_Allreduce_init(mine, to, n, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, r)); break;
        case 8: OK(MPI_Reduce_scatter_block_init(mine, to, n, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, r)); break;
        case 9: OK(MPI_Reduce_scatter_init(mine, to, counts, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, r)); break;
        default: OK(MPI_Scan_init(mine, to, n, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, r));
    }
}

static void clear(double to[OPERATIONS][MOST * 8], int n, int root) {
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int i = 0; i < n * size; i++) to[operation][i] = operation == 1 && rank == root ? mine[i] : -1;
}

// All operations, in an order of each rank's own.
static void orders(int n, int root, int free_first) {
    MPI_Comm comm;
    MPI_Request r[OPERATIONS], pending;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int operation = 0; operation < OPERATIONS; operation++) initialize(operation, n, root, got[operation], comm, &r[operation]);
    if (free_first) OK(MPI_Comm_free(&comm));
    for (turn = 0; turn < ROUNDS; turn++) {
        snprintf(what, sizeof what, "%d doubles, root %d, turn %d", n, root, turn);
        for (int i = 0; i < n * size; i++) mine[i] = 1.0 / (3 + i + rank * 7 + turn * 1000);
        clear(expected, n, root), clear(got, n, root);
        for (int operation = 0; operation < OPERATIONS; operation++) blocking(operation, n, root, expected[operation], MPI_COMM_WORLD);
        for (int i = 0; i < OPERATIONS; i++) {
            OK(MPI_Start(&r[(i * (rank + 1) + turn * rank) % OPERATIONS]));
            if (i == OPERATIONS / 2) OK(MPI_Ibarrier(MPI_COMM_WORLD, &pending));
        }
        int most = -1;
        OK(MPI_Allreduce(&turn, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK_EQ(most, turn);
        OK(MPI_Wait(&pending, MPI_STATUS_IGNORE));
        for (int i = 0; i < OPERATIONS; i++) OK(MPI_Wait(&r[(i * (size - rank) + turn) % OPERATIONS], MPI_STATUS_IGNORE));
        for (int operation = 0; operation < OPERATIONS; operation++) {
            if ((operation == 2 || operation == 6) && rank != root) continue;
            if (memcmp(expected[operation], got[operation], (size_t)results(operation, n) * sizeof(double))) WRONG("operation %d differs", operation);
        }
    }
    for (int operation = 0; operation < OPERATIONS; operation++) OK(MPI_Request_free(&r[operation]));
    if (!free_first) OK(MPI_Comm_free(&comm));
}

// More than there are boards for: some go by messages, all give the right results.
static void many(void) {
    static MPI_Request r[MANY];
    static int in[MANY], out[MANY];
    for (int k = 0; k < MANY; k++)
        OK(MPI_Allreduce_init(&in[k], &out[k], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[k]));
    for (int turn = 0; turn < 2; turn++) {
        for (int k = 0; k < MANY; k++) in[k] = k * turn + rank, out[k] = -1;
        for (int k = 0; k < MANY; k++) OK(MPI_Start(&r[rank % 2 ? k : MANY - 1 - k]));
        OK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE));
        for (int k = 0; k < MANY; k++) CHECK_EQ(out[k], size * k * turn + size * (size - 1) / 2);
    }
    for (int k = 0; k < MANY; k++) OK(MPI_Request_free(&r[k]));
}

// Freed requests give their memory back.
static void freed(void) {
    for (int k = 0; k < FREED; k++) {
        MPI_Request r;
        int sum = -1;
        OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
        if (k % 3) {
            OK(MPI_Start(&r));
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
            CHECK_EQ(sum, size * (size - 1) / 2);
        }
        OK(MPI_Request_free(&r));
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    const int lengths[] = {0, 1, 7, 100, MOST};
    for (int k = 0; k < 5; k++) orders(lengths[k], k % size, k % 2);
    many();
    freed();
    orders(3, size - 1, 1);
    return finish();
}
