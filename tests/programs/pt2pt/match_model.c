// ranks: 1 2 3 5
// Matching against a model. Without MPI_ANY_SOURCE the standard leaves no choice: whatever the timing, each receive gets
// the message that a simple search in order gives it. Random tags, wildcards, sizes and times of posting between all
// pairs; what the model leaves over is cancelled or drained, in order.
#include "../check.h"

enum { MOST = 40, ROUNDS = 25, LARGE = 40000 };

static uint64_t mix(uint64_t x) {
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(int round, int from, int to, int i, int what) {
    return mix(1 + mix((uint64_t)(round * 64 + from) * 64 + to) + (uint64_t)(i * 8 + what));
}

static int messages(int round, int from, int to) { return (int)(draw(round, from, to, 0, 0) % (MOST + 1)); }
static int receives(int round, int from, int to) { return (int)(draw(round, from, to, 0, 1) % (MOST + 1)); }
static int tag_of(int round, int from, int to, int i) { return (int)(draw(round, from, to, i, 2) % 4); }
static int bytes_of(int round, int from, int to, int i) {
    uint64_t x = draw(round, from, to, i, 3);
    return (int)(x % 8 == 0 ? x % LARGE : x % 8 < 4 ? x % 60 : x % 3000);
}
static int pattern_of(int round, int from, int to, int i) {
    uint64_t x = draw(round, from, to, i, 4);
    return x % 3 == 0 ? MPI_ANY_TAG : (int)(x / 3 % 4);
}

static unsigned seed_of(int from, int i) { return (unsigned)(from * 100 + i); }

typedef struct {
    int message[MOST]; // which message receive i gets, or -1
    int taken[MOST];   // whether message i is received
} Model;

static void predict(Model *m, int round, int from) {
    memset(m, 0, sizeof *m);
    for (int i = 0; i < receives(round, from, rank); i++) {
        int wanted = pattern_of(round, from, rank, i);
        m->message[i] = -1;
        for (int k = 0; k < messages(round, from, rank) && m->message[i] < 0; k++)
            if (!m->taken[k] && (wanted == MPI_ANY_TAG || wanted == tag_of(round, from, rank, k))) m->message[i] = k;
        if (m->message[i] >= 0) m->taken[m->message[i]] = 1;
    }
}

static void check_arrived(const char *buf, int round, int from, int k, const MPI_Status *status) {
    CHECK_STATUS(*status, from, tag_of(round, from, rank, k), bytes_of(round, from, rank, k));
    CHECK_PATTERN(buf, bytes_of(round, from, rank, k), seed_of(from, k));
}

static void post(int round, int from, int first, int end, char *in, MPI_Request *r) {
    for (int i = first; i < end; i++)
        MPI_Irecv(in + (size_t)(from * MOST + i) * LARGE, LARGE, MPI_BYTE, from, pattern_of(round, from, rank, i), MPI_COMM_WORLD,
                  &r[from * MOST + i]);
}

static void play(int round, char *in, MPI_Request *r, MPI_Request *s, char **outs) {
    int n = 0;
    // A part of the receives is posted before anything is sent, a part after the first half, the rest at the end.
    for (int from = 0; from < size; from++) post(round, from, 0, receives(round, from, rank) / 3, in, r);
    if (round % 2) MPI_Barrier(MPI_COMM_WORLD);
    for (int half = 0; half < 2; half++) {
        for (int to = 0; to < size; to++)
            for (int i = 0; i < messages(round, rank, to); i++) {
                if ((i >= messages(round, rank, to) / 2) != half) continue;
                int bytes = bytes_of(round, rank, to, i);
                outs[n] = get_memory(bytes);
                fill(outs[n], bytes, seed_of(rank, i));
                MPI_Isend(outs[n], bytes, MPI_BYTE, to, tag_of(round, rank, to, i), MPI_COMM_WORLD, &s[n]);
                n++;
            }
        for (int from = 0; from < size && !half; from++) {
            int all = receives(round, from, rank);
            post(round, from, all / 3, 2 * all / 3, in, r);
        }
    }
    if (round % 3) MPI_Barrier(MPI_COMM_WORLD);
    for (int from = 0; from < size; from++) {
        int all = receives(round, from, rank);
        post(round, from, 2 * all / 3, all, in, r);
    }
    for (int from = 0; from < size; from++) {
        Model m;
        MPI_Status status;
        predict(&m, round, from);
        for (int i = receives(round, from, rank) - 1; i >= 0; i--)
            if (m.message[i] >= 0) {
                MPI_Wait(&r[from * MOST + i], &status);
                check_arrived(in + (size_t)(from * MOST + i) * LARGE, round, from, m.message[i], &status);
            }
        for (int i = 0; i < receives(round, from, rank); i++)
            if (m.message[i] < 0) {
                int cancelled = -1;
                MPI_Cancel(&r[from * MOST + i]);
                MPI_Wait(&r[from * MOST + i], &status);
                MPI_Test_cancelled(&status, &cancelled);
                CHECK_EQ(cancelled, 1);
            }
        for (int k = 0; k < messages(round, from, rank); k++)
            if (!m.taken[k]) {
                MPI_Recv(in, LARGE, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                check_arrived(in, round, from, k, &status);
            }
    }
    MPI_Waitall(n, s, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) free(outs[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

// With MPI_ANY_SOURCE the interleaving of the senders is free, but each sender's own order is not.
static void anyone(void) {
    enum { EACH = 200 };
    int (*in)[2] = get_memory(size * EACH * sizeof *in), (*out)[2] = get_memory(size * EACH * sizeof *out), next[16] = {0}, n = 0;
    MPI_Request *r = get_memory(size * EACH * sizeof *r), *s = get_memory(size * EACH * sizeof *s);
    MPI_Status *statuses = get_memory(size * EACH * sizeof *statuses);
    for (int i = 0; i < size * EACH / 2; i++) MPI_Irecv(in[i], 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < EACH; i++)
        for (int to = 0; to < size; to++, n++) {
            out[n][0] = rank;
            out[n][1] = i;
            MPI_Isend(out[n], 2, MPI_INT, to, (i * 7 + to) % 5, MPI_COMM_WORLD, &s[n]);
        }
    for (int i = size * EACH / 2; i < size * EACH; i++)
        MPI_Irecv(in[i], 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[i]);
    MPI_Waitall(size * EACH, r, statuses);
    for (int i = 0; i < size * EACH; i++) {
        int from = statuses[i].MPI_SOURCE;
        CHECK_EQ(in[i][0], from);
        CHECK_EQ(in[i][1], next[from]);
        CHECK_EQ(statuses[i].MPI_TAG, (next[from] * 7 + rank) % 5);
        next[from]++;
    }
    MPI_Waitall(n, s, MPI_STATUSES_IGNORE);
    free(in);
    free(out);
    free(r);
    free(s);
    free(statuses);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char *in = get_memory((size_t)size * MOST * LARGE), **outs = get_memory(size * MOST * sizeof *outs);
    MPI_Request *r = get_memory(size * MOST * sizeof *r), *s = get_memory(size * MOST * sizeof *s);
    for (int round = 0; round < ROUNDS; round++) play(round, in, r, s, outs);
    anyone();
    free(in);
    free(outs);
    free(r);
    free(s);
    return finish();
}
