// ranks: 2 5 8
// cflags: -O2
// timeout: 120
// args: 12000
// Random collectives, blocking and not, on random communicators, with checked results, and no more memory at the end than after a
// tenth of them. The argument says how many; a second one is the seed. `make soak` runs a million.
#include "coll.h"

enum { COMMS = 6, SLOTS = 12, LONGEST = 12000, MOST = 16 };

// The same numbers on all ranks; and some for each rank alone, for what may differ.
static uint64_t shared_state, own_state;
static unsigned draw(uint64_t *state, unsigned below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)(*state >> 20) % below;
}
static unsigned dice(unsigned below) { return draw(&shared_state, below); }
static unsigned own_dice(unsigned below) { return draw(&own_state, below); }

static struct {
    MPI_Comm comm; // null where this process is not a member
    int members, me;
} places[COMMS];

enum { BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, WORDS, BLOCK, SCAN, EXSCAN, GATHERV, ALLTOALLV, OPERATIONS };
static const char *const names[] = {"Barrier",   "Bcast",     "Gather", "Scatter", "Allgather", "Alltoall", "Reduce",
                                    "Allreduce", "Allreduce of pairs", "Reduce_scatter_block", "Scan", "Exscan", "Gatherv", "Alltoallv"};

static struct slot {
    MPI_Request request;
    int busy, operation, members, me, root, n;
    long number;
    unsigned *in, *out;
    int counts[4][MOST]; // sent, where, received, where
} slots[SLOTS];

static MPI_Op pairs_op;
static MPI_Datatype pair_type;

// (a, b) stands for x -> ax + b; the composition is not commutative.
static void compose(void *left, void *right, int *n, MPI_Datatype *type) {
    unsigned *u = left, *v = right;
    (void)type;
    for (int i = 0; i < *n; i++, u += 2, v += 2) v[1] = u[0] * v[1] + u[1], v[0] = u[0] * v[0];
}

static unsigned value(const struct slot *s, int who, int i) {
    return (unsigned)s->number * 2654435761u + (unsigned)who * 40503u + (unsigned)i * 69069u;
}

// How much i sends to j in an irregular operation.
static int part(const struct slot *s, int i, int j) { return (i * 5 + j * 3 + (int)(s->number % 7)) % 4 * s->n / 4; }

static unsigned combined(const struct slot *s, int first, int last, int i) {
    unsigned sum = 0;
    for (int p = first; p <= last; p++) sum += value(s, p, i);
    return sum;
}

static void expected_pair(const struct slot *s, int i, unsigned r[2]) {
    int one = 1;
    r[0] = value(s, s->members - 1, 2 * i), r[1] = value(s, s->members - 1, 2 * i + 1);
    for (int p = s->members - 2; p >= 0; p--) {
        unsigned u[2] = {value(s, p, 2 * i), value(s, p, 2 * i + 1)};
        compose(u, r, &one, &pair_type);
    }
}

// Checks the result, stores nothing: `want` is what place i must hold.
static void verify(struct slot *s) {
    int n = s->n, all = s->members * n, at_root = s->me == s->root;
    const unsigned untouched = 0xfeedu;
    for (int i = 0; i < all; i++) {
        unsigned want = untouched, pair[2];
        int block = i / n, at = i % n;
        switch (s->operation) {
            case BCAST: if (i < n) want = value(s, s->root, i); break;
            case GATHER: if (at_root) want = value(s, block, at); break;
            case SCATTER: if (i < n) want = value(s, s->root, s->me * n + i); break;
            case ALLGATHER: want = value(s, block, at); break;
            case ALLTOALL: want = value(s, block, s->me * n + at); break;
            case REDUCE: if (at_root && i < n) want = combined(s, 0, s->members - 1, i); break;
            case ALLREDUCE: if (i < n) want = combined(s, 0, s->members - 1, i); break;
            case WORDS:
                if (i < n / 2 * 2) {
                    expected_pair(s, i / 2, pair);
                    want = pair[i % 2];
                }
                break;
            case BLOCK: if (i < n) want = combined(s, 0, s->members - 1, s->me * n + i); break;
            case SCAN: if (i < n) want = combined(s, 0, s->me, i); break;
            case EXSCAN: if (i < n && s->me) want = combined(s, 0, s->me - 1, i); break;
            case GATHERV: if (at_root && at < part(s, block, s->root)) want = value(s, block, at); break;
            case ALLTOALLV: if (at < part(s, block, s->me)) want = value(s, block, s->me * n + at); break;
        }
        if (s->out[i] != want) {
            snprintf(what, sizeof what, "number %ld: %s of %d, root %d, rank %d of %d", s->number, names[s->operation], n, s->root,
                     s->me, s->members);
            WRONG("int %d is %#x, not %#x", i, s->out[i], want);
            return;
        }
    }
}

static void finish_slot(struct slot *s) {
    if (!s->busy) return;
    int flag = 0;
    if (own_dice(2))
        OK(MPI_Wait(&s->request, MPI_STATUS_IGNORE));
    else
        for (; !flag; sched_yield()) OK(MPI_Test(&s->request, &flag, MPI_STATUS_IGNORE));
    s->busy = 0;
    verify(s);
}

// `blocking` calls MPI_Name, otherwise MPI_Iname.
#define CALL(Name, name, ...)                                  \
    do {                                                       \
        if (blocking)                                          \
            OK(MPI_##Name(__VA_ARGS__, comm));                 \
        else                                                   \
            OK(MPI_I##name(__VA_ARGS__, comm, &s->request));   \
    } while (0)

static void run(struct slot *s, MPI_Comm comm, int blocking) {
    int n = s->n, all = s->members * n;
    MPI_Datatype u = MPI_UNSIGNED;
    for (int i = 0; i < all; i++) s->in[i] = value(s, s->me, i), s->out[i] = 0xfeedu;
    for (int i = 0; i < s->members; i++) {
        s->counts[0][i] = part(s, s->me, i), s->counts[1][i] = i * n;
        s->counts[2][i] = s->operation == GATHERV ? part(s, i, s->root) : part(s, i, s->me), s->counts[3][i] = i * n;
    }
    switch (s->operation) {
        case BARRIER:
            if (blocking)
                OK(MPI_Barrier(comm));
            else
                OK(MPI_Ibarrier(comm, &s->request));
            for (int i = 0; i < all; i++) s->out[i] = 0xfeedu;
            break;
        case BCAST:
            for (int i = 0; s->me == s->root && i < n; i++) s->out[i] = s->in[i];
            CALL(Bcast, bcast, s->out, n, u, s->root);
            break;
        case GATHER: CALL(Gather, gather, s->in, n, u, s->out, n, u, s->root); break;
        case SCATTER: CALL(Scatter, scatter, s->in, n, u, s->out, n, u, s->root); break;
        case ALLGATHER: CALL(Allgather, allgather, s->in, n, u, s->out, n, u); break;
        case ALLTOALL: CALL(Alltoall, alltoall, s->in, n, u, s->out, n, u); break;
        case REDUCE: CALL(Reduce, reduce, s->in, s->out, n, u, MPI_SUM, s->root); break;
        case ALLREDUCE: CALL(Allreduce, allreduce, s->in, s->out, n, u, MPI_SUM); break;
        case WORDS: CALL(Allreduce, allreduce, s->in, s->out, n / 2, pair_type, pairs_op); break;
        case BLOCK: CALL(Reduce_scatter_block, reduce_scatter_block, s->in, s->out, n, u, MPI_SUM); break;
        case SCAN: CALL(Scan, scan, s->in, s->out, n, u, MPI_SUM); break;
        case EXSCAN: CALL(Exscan, exscan, s->in, s->out, n, u, MPI_SUM); break;
        case GATHERV:
            CALL(Gatherv, gatherv, s->in, part(s, s->me, s->root), u, s->out, s->counts[2], s->counts[3], u, s->root);
            break;
        case ALLTOALLV:
            CALL(Alltoallv, alltoallv, s->in, s->counts[0], s->counts[1], u, s->out, s->counts[2], s->counts[3], u);
            break;
    }
    s->busy = 1;
    if (blocking) {
        s->busy = 0;
        verify(s);
    }
}

// Another communicator in this place: some of the ranks, in another order. Operations on the old
// one continue.
static void renew(int at) {
    if (places[at].comm != MPI_COMM_NULL) OK(MPI_Comm_free(&places[at].comm));
    unsigned members = dice(1u << size), reversed = dice(2);
    int in = members == 0 || (members >> rank & 1);
    OK(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, reversed ? -rank : rank, &places[at].comm));
    places[at].members = 0;
    for (int i = 0; i < size; i++) places[at].members += members == 0 || (members >> i & 1);
    places[at].me = -1;
    if (in) OK(MPI_Comm_rank(places[at].comm, &places[at].me));
}

static int some_length(void) {
    unsigned kind = dice(100);
    return (int)dice(kind < 60 ? 9 : kind < 85 ? 200 : kind < 99 ? 2000 : LONGEST);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    long calls = argc > 1 ? atol(argv[1]) : 1000, early = 0;
    shared_state = 88172645463325252u + (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 0x9e3779b97f4a7c15u;
    own_state = shared_state + (uint64_t)rank * 7919u + 1;
    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair_type));
    OK(MPI_Type_commit(&pair_type));
    OK(MPI_Op_create(compose, 0, &pairs_op));
    size_t bytes = (size_t)LONGEST * (size_t)size * sizeof(unsigned);
    for (int i = 0; i < SLOTS; i++) {
        slots[i].in = get_memory(bytes), slots[i].out = get_memory(bytes);
        memset(slots[i].in, 1, bytes), memset(slots[i].out, 1, bytes);
    }
    for (int i = 0; i < COMMS; i++) {
        places[i].comm = MPI_COMM_NULL;
        renew(i);
    }
    for (long k = 0; k < calls; k++) {
        if (dice(300) == 0) renew((int)dice(COMMS));
        int at = (int)dice(COMMS), where = (int)dice(SLOTS), operation = (int)dice(OPERATIONS), n = some_length();
        int blocking = dice(3) == 0, root = (int)dice((unsigned)places[at].members);
        if (k == calls / 10) early = resident_kib();
        if (places[at].comm == MPI_COMM_NULL) continue;
        struct slot *s = &slots[where];
        finish_slot(s);
        s->operation = operation, s->n = n, s->number = k, s->root = root;
        s->members = places[at].members, s->me = places[at].me;
        run(s, places[at].comm, blocking);
        if (own_dice(20) == 0) finish_slot(&slots[own_dice(SLOTS)]);
    }
    for (int i = 0; i < SLOTS; i++) finish_slot(&slots[i]);
    long late = resident_kib();
    snprintf(what, sizeof what, "%ld calls", calls);
    // A short run still does some things for the first time: buffers for the longest messages,
    // pages of the shared segment.
    if (late > early + (calls >= 100000 ? 3072 : 16384)) WRONG("memory grew from %ld KiB to %ld KiB", early, late);
    if (rank == 0) printf("stress: %ld collectives, %ld KiB after a tenth, %ld KiB at the end\n", calls, early, late);
    for (int i = 0; i < COMMS; i++)
        if (places[i].comm != MPI_COMM_NULL) OK(MPI_Comm_free(&places[i].comm));
    OK(MPI_Op_free(&pairs_op));
    OK(MPI_Type_free(&pair_type));
    for (int i = 0; i < SLOTS; i++) free(slots[i].in), free(slots[i].out);
    return finish();
}
