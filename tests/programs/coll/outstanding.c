// ranks: 1 2 3 4 5 8
// Many nonblocking collectives at once on one communicator, completed in any order and among
// messages from any source; two communicators interleaved differently; a communicator freed while
// its collectives run; persistent requests started in different orders.
#include "coll.h"

enum { MANY = 60, ROOM = 300 };
static unsigned seed;
static unsigned next_random(void) {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

// Operation k of a series: which, how long, its root. The same on all ranks.
static struct job {
    int operation, n, root;
    int in[ROOM * 9], out[ROOM * 9];
} jobs[MANY];

static int value(int k, int who, int i) { return (k + 1) * 1000003 + who * 4099 + i * 7; }

static void begin(int k, MPI_Comm comm, MPI_Request *r, int persistent) {
    struct job *j = &jobs[k];
    for (int i = 0; i < j->n * size; i++) j->in[i] = value(k, rank, i), j->out[i] = -1;
    int *in = j->in, *out = j->out, n = j->n;
#define EITHER(Name, name, ...)                                           \
    if (persistent)                                                       \
        OK(MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, r));       \
    else                                                                  \
        OK(MPI_I##name(__VA_ARGS__, comm, r));                            \
    break
    switch (j->operation) {
        case 0:
            if (persistent)
                OK(MPI_Barrier_init(comm, MPI_INFO_NULL, r));
            else
                OK(MPI_Ibarrier(comm, r));
            break;
        case 1:
            if (rank == j->root) memcpy(out, in, (size_t)n * sizeof(int));
            EITHER(Bcast, bcast, out, n, MPI_INT, j->root);
        case 2: EITHER(Allreduce, allreduce, in, out, n, MPI_INT, MPI_SUM);
        case 3: EITHER(Alltoall, alltoall, in, n, MPI_INT, out, n, MPI_INT);
        case 4: EITHER(Allgather, allgather, in, n, MPI_INT, out, n, MPI_INT);
        case 5: EITHER(Gather, gather, in, n, MPI_INT, out, n, MPI_INT, j->root);
        case 6: EITHER(Scatter, scatter, in, n, MPI_INT, out, n, MPI_INT, j->root);
        case 7: EITHER(Scan, scan, in, out, n, MPI_INT, MPI_SUM);
        case 8: EITHER(Reduce, reduce, in, out, n, MPI_INT, MPI_SUM, j->root);
        case 9: EITHER(Reduce_scatter_block, reduce_scatter_block, in, out, n, MPI_INT, MPI_SUM);
    }
}

static int total(int k, int first, int last, int i) {
    int s = 0;
    for (int p = first; p <= last; p++) s += value(k, p, i);
    return s;
}

static void verify(int k) {
    struct job *j = &jobs[k];
    int n = j->n, root = rank == j->root;
    for (int i = 0; i < n * size; i++) {
        int want = -1, block = n ? i / n : 0, at = n ? i % n : 0;
        switch (j->operation) {
            case 1: want = i < n ? value(k, j->root, i) : -1; break;
            case 2: want = i < n ? total(k, 0, size - 1, i) : -1; break;
            case 3: want = value(k, block, rank * n + at); break;
            case 4: want = value(k, block, at); break;
            case 5: want = root ? value(k, block, at) : -1; break;
            case 6: want = i < n ? value(k, j->root, rank * n + i) : -1; break;
            case 7: want = i < n ? total(k, 0, rank, i) : -1; break;
            case 8: want = root && i < n ? total(k, 0, size - 1, i) : -1; break;
            case 9: want = i < n ? total(k, 0, size - 1, rank * n + i) : -1; break;
        }
        if (j->out[i] != want) {
            snprintf(what, sizeof what, "job %d, operation %d, %d ints, root %d", k, j->operation, n, j->root);
            WRONG("int %d is %d, not %d", i, j->out[i], want);
            return;
        }
    }
}

static void choose(unsigned s) {
    seed = s;
    for (int k = 0; k < MANY; k++) {
        jobs[k].operation = (int)(next_random() % 10);
        jobs[k].n = (int)(next_random() % 4 ? next_random() % 9 : next_random() % ROOM);
        jobs[k].root = (int)(next_random() % (unsigned)size);
    }
    seed = s * 31 + (unsigned)rank; // from here on every rank for itself
}

// Completion in the way of this rank.
static void finish_all(MPI_Request *r, int way) {
    int left = MANY, index[MANY], n, flag;
    for (int k = 0; k < MANY; k++)
        if (r[k] == MPI_REQUEST_NULL) left--;
    switch (way) {
        case 0: OK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE)); break;
        case 1:
            for (int k = MANY - 1; k >= 0; k--) OK(MPI_Wait(&r[k], MPI_STATUS_IGNORE));
            break;
        case 2:
            for (; left; left--) {
                OK(MPI_Waitany(MANY, r, &n, MPI_STATUS_IGNORE));
                CHECK(n != MPI_UNDEFINED);
            }
            break;
        case 3:
            for (; left; sched_yield()) {
                OK(MPI_Testsome(MANY, r, &n, index, MPI_STATUSES_IGNORE));
                left -= n;
            }
            break;
        case 4:
            for (int k = 0; k < MANY; k++) {
                int at = (k * 7 + rank) % MANY;
                for (flag = 0; !flag; sched_yield()) OK(MPI_Test(&r[at], &flag, MPI_STATUS_IGNORE));
            }
            break;
        case 5:
            for (flag = 0; !flag; sched_yield()) OK(MPI_Testall(MANY, r, &flag, MPI_STATUSES_IGNORE));
            break;
    }
}

static void series(MPI_Comm comm, unsigned s) {
    static MPI_Request r[MANY];
    choose(s);
    // Messages between the calls: each rank sends to its right neighbour, and receives from any
    // source.
    enum { MESSAGES = MANY / 6 };
    static int sent[MESSAGES], received[MESSAGES];
    MPI_Request m[2 * MESSAGES];
    int messages = 0;
    for (int k = 0; k < MANY; k++) {
        begin(k, comm, &r[k], 0);
        if (k % 6 == 5) {
            sent[messages] = rank * 1000 + messages;
            OK(MPI_Irecv(&received[messages], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &m[2 * messages]));
            OK(MPI_Isend(&sent[messages], 1, MPI_INT, (rank + 1) % size, messages, comm, &m[2 * messages + 1]));
            messages++;
        }
        if (next_random() % 16 == 0) sleep_ms(1);
    }
    finish_all(r, (int)(s + (unsigned)rank) % 6);
    OK(MPI_Waitall(2 * messages, m, MPI_STATUSES_IGNORE));
    for (int i = 0; i < messages; i++) CHECK_EQ(received[i], (rank + size - 1) % size * 1000 + i);
    for (int k = 0; k < MANY; k++) verify(k);
}

// Two communicators: the order between them differs from rank to rank. A blocking call in the midst of it.
static void interleaved(void) {
    MPI_Comm a, b;
    static MPI_Request r[MANY];
    int sum = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &b));
    choose(77);
    for (int half = 0; half < 2; half++)
        for (int k = 0; k < MANY; k++)
            if ((k % 2) == (half ^ (rank % 2))) begin(k, k % 2 ? a : b, &r[k], 0);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, a));
    CHECK_EQ(sum, size * (size - 1) / 2);
    OK(MPI_Comm_free(&a)); // while everything runs
    OK(MPI_Comm_free(&b));
    finish_all(r, rank % 6);
    for (int k = 0; k < MANY; k++) verify(k);
}

// Each starts its persistent requests in an order of its own, all at once or one by one, three times.
static void persistent(void) {
    MPI_Comm comm;
    static MPI_Request r[MANY], turned[MANY];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    choose(5);
    for (int k = 0; k < MANY; k++) begin(k, comm, &r[k], 1);
    OK(MPI_Comm_free(&comm));
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < MANY; k++)
            for (int i = 0; i < jobs[k].n * size; i++) jobs[k].out[i] = -1;
        for (int k = 0; k < MANY; k++)
            if (jobs[k].operation == 1 && rank == jobs[k].root)
                memcpy(jobs[k].out, jobs[k].in, (size_t)jobs[k].n * sizeof(int));
        for (int k = 0; k < MANY; k++) turned[k] = r[(k * 7 + rank * 11 + round) % MANY];
        if ((rank + round) % 2)
            OK(MPI_Startall(MANY, turned));
        else
            for (int k = 0; k < MANY; k++) OK(MPI_Start(&turned[k]));
        OK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE));
        for (int k = 0; k < MANY; k++) verify(k);
    }
    for (int k = 0; k < MANY; k++) OK(MPI_Request_free(&r[k]));
}

// Three communicators of two of three ranks each: no order of blocking calls would do.
static void overlapping(void) {
    if (size < 3) return;
    MPI_Comm pair[3];
    MPI_Group world, g;
    MPI_Request r[2];
    int sums[2] = {0}, n = 0, want[2];
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < 3; i++) {
        int members[2] = {i, (i + 1) % 3};
        OK(MPI_Group_incl(world, 2, members, &g));
        OK(MPI_Comm_create(MPI_COMM_WORLD, g, &pair[i]));
        OK(MPI_Group_free(&g));
    }
    OK(MPI_Group_free(&world));
    for (int k = 0; k < 3; k++) {
        int i = (k + rank) % 3;
        if (pair[i] == MPI_COMM_NULL) continue;
        want[n] = i + (i + 1) % 3;
        OK(MPI_Iallreduce(&rank, &sums[n], 1, MPI_INT, MPI_SUM, pair[i], &r[n]));
        n++;
    }
    OK(MPI_Waitall(n, r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < n; i++) CHECK_EQ(sums[i], want[i]);
    for (int i = 0; i < 3; i++)
        if (pair[i] != MPI_COMM_NULL) OK(MPI_Comm_free(&pair[i]));
}

// A collective makes progress inside a receive, without a call for its own request.
static void progress(void) {
    if (size < 2) return;
    int token = 0;
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    if (rank == 0) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 1; i < size; i++) OK(MPI_Send(&token, 1, MPI_INT, i, 9, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    for (unsigned s = 0; s < 8; s++) series(MPI_COMM_WORLD, s);
    interleaved();
    persistent();
    overlapping();
    for (int i = 0; i < 20; i++) progress();
    return finish();
}
