// ranks: 2 3 4 5 8
// timeout: 60
// Nonblocking collectives over the memory that the ranks of a node share: reductions give the bits of the blocking ones; some
// are pending when blocking ones start; ranks wait for them in opposite orders; a root is far ahead of the others; threads
// complete each other's requests; the request of one can neither be cancelled nor freed.
#include <pthread.h>
#include <sched.h>

#include "coll.h"

enum { MOST = 70000, AHEAD = 300, LONG = 1000 };
static double mine[MOST * 2], first[MOST], second[MOST];

static void finish_one(MPI_Request *r, int which) {
    if (which % 2) {
        OK(MPI_Wait(r, MPI_STATUS_IGNORE));
        return;
    }
    for (int flag = 0; !flag; sched_yield()) OK(MPI_Test(r, &flag, MPI_STATUS_IGNORE));
}

// The blocking form, then the nonblocking one: the same bits.
static void bits(int n, int operation, int root) {
    MPI_Request r;
    size_t bytes = (size_t)n * sizeof(double);
    memset(first, 0, bytes), memset(second, 0, bytes);
    snprintf(what, sizeof what, "%d doubles, operation %d, root %d", n, operation, root);
    switch (operation) {
        case 0:
            OK(MPI_Allreduce(mine, first, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            OK(MPI_Iallreduce(mine, second, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r));
            break;
        case 1:
            memcpy(first, mine, bytes), memcpy(second, mine, bytes);
            OK(MPI_Allreduce(MPI_IN_PLACE, first, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            OK(MPI_Iallreduce(MPI_IN_PLACE, second, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r));
            break;
        case 2:
            OK(MPI_Reduce(mine, first, n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
            OK(MPI_Ireduce(mine, second, n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD, &r));
            break;
        case 3:
            OK(MPI_Scan(mine, first, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            OK(MPI_Iscan(mine, second, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r));
            break;
        case 4:
            OK(MPI_Exscan(mine, first, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            OK(MPI_Iexscan(mine, second, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r));
            break;
        case 5: {
            int counts[64], left = n;
            for (int i = 0; i < size; i++) left -= counts[i] = i < size - 1 ? left / (2 + i % 2) : left;
            OK(MPI_Reduce_scatter(mine, first, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            OK(MPI_Ireduce_scatter(mine, second, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r));
            break;
        }
        default:
            OK(MPI_Reduce_scatter_block(mine, first, n / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            OK(MPI_Ireduce_scatter_block(mine, second, n / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r));
    }
    finish_one(&r, rank + n);
    if (memcmp(first, second, bytes)) WRONG("%s", "the bits differ");
}

// Several kinds are pending when blocking calls come, which do not overtake them.
static void mixed(int turn) {
    MPI_Request r[5];
    int all[64], sum = -1, from[64], to[64], root = turn % size, given = turn * 100 + rank, told = rank == root ? turn : -1;
    for (int i = 0; i < size; i++) from[i] = rank * 100 + i;
    snprintf(what, sizeof what, "turn %d", turn);
    OK(MPI_Iallreduce(&given, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &r[1]));
    OK(MPI_Ibcast(&told, 1, MPI_INT, root, MPI_COMM_WORLD, &r[2]));
    if (turn % 3 == 0 && rank == size - 1) sleep_ms(2);
    int least = -1;
    OK(MPI_Allreduce(&given, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    CHECK_EQ(least, turn * 100);
    OK(MPI_Iallgather(&given, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &r[3]));
    OK(MPI_Ialltoall(from, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD, &r[4]));
    for (int k = 0; k < 5; k++) finish_one(&r[rank % 2 ? k : 4 - k], turn + rank);
    CHECK_EQ(sum, turn * 100 + size - 1);
    CHECK_EQ(told, turn);
    for (int i = 0; i < size; i++) {
        CHECK_EQ(all[i], turn * 100 + i);
        CHECK_EQ(to[i], i * 100 + rank);
    }
}

// The root has started more than a board has room for before the others come.
static void far_ahead(void) {
    static int words[AHEAD][LONG];
    static MPI_Request r[AHEAD];
    for (int k = 0; k < AHEAD; k++)
        for (int i = 0; i < LONG; i++) words[k][i] = rank == 0 ? k * 7 + i : -1;
    if (rank) sleep_ms(20);
    for (int k = 0; k < AHEAD; k++) {
        OK(MPI_Ibcast(words[k], LONG, MPI_INT, 0, MPI_COMM_WORLD, &r[k]));
        if (rank == size - 1 && k % 50 == 0) sleep_ms(1);
    }
    OK(MPI_Waitall(AHEAD, r, MPI_STATUSES_IGNORE));
    for (int k = 0; k < AHEAD; k++)
        for (int i = 0; i < LONG; i++) CHECK_EQ(words[k][i], k * 7 + i);
}

// Pending or complete, it can neither be cancelled nor freed.
static void cancelled(void) {
    MPI_Request r;
    for (int turn = 0; turn < 2; turn++) {
        if (rank == 0) sleep_ms(turn ? 5 : 0);
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &r));
        CHECK_CLASS(MPI_Cancel(&r), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Request_free(&r), MPI_ERR_REQUEST);
        OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
}

// Each thread has a communicator of its own, and completes what the other one has started.
static MPI_Comm comms[2];
static pthread_barrier_t both;
static MPI_Request started[2];
static int sums[2];

static void *work(void *argument) {
    int t = (int)(intptr_t)argument;
    for (int turn = 0; turn < 100; turn++) {
        int given = turn + rank + t;
        OK(MPI_Iallreduce(&given, &sums[t], 1, MPI_INT, MPI_SUM, comms[t], &started[t]));
        pthread_barrier_wait(&both);
        OK(MPI_Wait(&started[1 - t], MPI_STATUS_IGNORE));
        CHECK_EQ(sums[1 - t], size * (turn + 1 - t) + size * (size - 1) / 2);
        pthread_barrier_wait(&both);
        if (turn % 10 == 0) OK(MPI_Barrier(comms[t]));
    }
    return NULL;
}

static void threads(void) {
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    for (int t = 0; t < 2; t++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    CHECK(pthread_create(&other, NULL, work, (void *)(intptr_t)1) == 0);
    work((void *)(intptr_t)0);
    CHECK(pthread_join(other, NULL) == 0);
    for (int t = 0; t < 2; t++) OK(MPI_Comm_free(&comms[t]));
}

int main(int argc, char **argv) {
    static const int lengths[] = {1, 2, 7, 64, 1000, 4097, 8192, MOST};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return_errors();
    for (int i = 0; i < MOST * 2; i++) {
        uint64_t x = pattern_word((uint64_t)i, (unsigned)rank);
        mine[i] = ((double)(x >> 11) - 4503599627370496.0) * (x & 1 ? 1e-3 : 1e7);
    }
    for (int l = 0; l < 8; l++)
        for (int operation = 0; operation < 7; operation++) bits(lengths[l], operation, l % size);
    for (int turn = 0; turn < 60; turn++) mixed(turn);
    far_ahead();
    cancelled();
    threads();
    return finish();
}
