// ranks: 1 2 3 4 5 8
// Operations of users: made, asked, freed while requests still need them; functions with small and large counts; a segmented sum over a
// struct; an element type of many kilobytes; results strictly in the order of ranks whatever the root.
#include "coll.h"

enum { N = 3000 };

// Words over an alphabet, joined: a hash with its length, which is exact and depends on the order.
struct word {
    uint64_t hash, power;
};

static void join_words(const struct word *a, struct word *b, long n) {
    for (long i = 0; i < n; i++) {
        b[i].hash = a[i].hash * b[i].power + b[i].hash;
        b[i].power *= a[i].power;
    }
}

static void join(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    join_words(in, inout, *n);
}

#ifndef CHECK_NO_LARGE
static void join_c(void *in, void *inout, MPI_Count *n, MPI_Datatype *type) {
    (void)type;
    join_words(in, inout, (long)*n);
}
#endif

static struct word letter(int who, int i) {
    struct word w = {(uint64_t)(who * 7 + i % 5 + 1), 31};
    return w;
}

static struct word joined(int first, int last, int i) {
    struct word w = letter(last, i);
    for (int p = last - 1; p >= first; p--) {
        struct word u = letter(p, i);
        join_words(&u, &w, 1);
    }
    return w;
}

static struct word mine[N], got[N];

static void check_words(int n, int first, int last, const char *call) {
    for (int i = 0; i < n; i++) {
        struct word w = joined(first, last, i);
        if (got[i].hash != w.hash || got[i].power != w.power) {
            WRONG("%s: word %d is not that of ranks %d to %d", call, i, first, last);
            return;
        }
    }
}

static void words(MPI_Op op, MPI_Datatype type) {
    static const int counts[] = {0, 1, 2, 50, N};
    for (int k = 0; k < 5; k++) {
        int n = counts[k];
        snprintf(what, sizeof what, "%d words", n);
        for (int i = 0; i < n; i++) mine[i] = letter(rank, i);
        for (int root = 0; root < size; root++) {
            memset(got, 0, sizeof got);
            OK(MPI_Reduce(mine, got, n, type, op, root, MPI_COMM_WORLD));
            if (rank == root) check_words(n, 0, size - 1, "Reduce");
            for (int i = 0; i < n; i++) got[i] = letter(rank, i);
            OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : (void *)got, rank == root ? got : NULL, n, type, op, root,
                          MPI_COMM_WORLD));
            if (rank == root) check_words(n, 0, size - 1, "Reduce in place");
        }
        memset(got, 0, sizeof got);
        OK(MPI_Allreduce(mine, got, n, type, op, MPI_COMM_WORLD));
        check_words(n, 0, size - 1, "Allreduce");
        OK(MPI_Scan(mine, got, n, type, op, MPI_COMM_WORLD));
        check_words(n, 0, rank, "Scan");
        OK(MPI_Exscan(mine, got, n, type, op, MPI_COMM_WORLD));
        if (rank) check_words(n, 0, rank - 1, "Exscan");
        for (int i = 0; i < n; i++) got[i] = letter(rank + 1, i);
        OK(MPI_Reduce_local(mine, got, n, type, op));
        check_words(n, rank, rank + 1, "Reduce_local");
    }
}

static void ask(void) {
    int flag = -1;
    MPI_Op known[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    for (int i = 0; i < 12; i++) {
        OK(MPI_Op_commutative(known[i], &flag));
        CHECK_EQ(flag, 1);
    }
    for (int commute = 0; commute < 2; commute++) {
        MPI_Op op;
        OK(MPI_Op_create(join, commute ? 5 : 0, &op));
        OK(MPI_Op_commutative(op, &flag));
        CHECK_EQ(flag != 0, commute);
        OK(MPI_Op_free(&op));
        CHECK(op == MPI_OP_NULL);
    }
}

// The handle may go while requests still use the operation.
static void freed_early(MPI_Datatype type) {
    MPI_Op op;
    MPI_Request r[4];
    static struct word in[4][N], out[4][N];
    snprintf(what, sizeof what, "freed early");
    OK(MPI_Op_create(join, 0, &op));
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < N; i++) in[k][i] = letter(rank, i);
    OK(MPI_Iallreduce(in[0], out[0], N, type, op, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Iscan(in[1], out[1], N, type, op, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Ireduce(in[2], out[2], N, type, op, 0, MPI_COMM_WORLD, &r[2]));
    OK(MPI_Allreduce_init(in[3], out[3], N, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &r[3]));
    OK(MPI_Op_free(&op));
    // Whatever is made now must not be mistaken for it.
    MPI_Op others[4];
    for (int k = 0; k < 4; k++) OK(MPI_Op_create(join, 1, &others[k]));
    OK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
    for (int k = 0; k < 2; k++) {
        memset(out[3], 0, sizeof out[3]);
        OK(MPI_Start(&r[3]));
        OK(MPI_Wait(&r[3], MPI_STATUS_IGNORE));
        memcpy(got, out[3], sizeof got);
        check_words(N, 0, size - 1, "persistent Allreduce");
    }
    OK(MPI_Request_free(&r[3]));
    memcpy(got, out[0], sizeof got);
    check_words(N, 0, size - 1, "Iallreduce");
    memcpy(got, out[1], sizeof got);
    check_words(N, 0, rank, "Iscan");
    memcpy(got, out[2], sizeof got);
    if (rank == 0) check_words(N, 0, size - 1, "Ireduce");
    for (int k = 0; k < 4; k++) OK(MPI_Op_free(&others[k]));
}

// A sum that starts anew where a flag is set: a struct with a gap that stays as it is.
struct segment {
    double sum;
    int starts, gap;
};

static void segmented(void *in, void *inout, int *n, MPI_Datatype *type) {
    struct segment *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        if (!b[i].starts) b[i].sum += a[i].sum;
        b[i].starts |= a[i].starts;
    }
}

static void segments(void) {
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(struct segment, sum), offsetof(struct segment, starts)};
    MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_INT}, type, resized;
    MPI_Op op;
    OK(MPI_Type_create_struct(2, lengths, places, parts, &type));
    OK(MPI_Type_create_resized(type, 0, sizeof(struct segment), &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Op_create(segmented, 0, &op));
    enum { M = 40 };
    struct segment s[M], r[M];
    snprintf(what, sizeof what, "segmented scan");
    for (int i = 0; i < M; i++) {
        s[i] = (struct segment){rank + i, rank % 3 == i % 3, 77};
        r[i] = (struct segment){-1, -1, 1234};
    }
    OK(MPI_Scan(s, r, M, resized, op, MPI_COMM_WORLD));
    for (int i = 0; i < M; i++) {
        double sum = 0;
        for (int p = 0; p <= rank; p++) sum = (p % 3 == i % 3 ? 0 : sum) + p + i;
        if (r[i].sum != sum || r[i].gap != 1234) WRONG("place %d: %g (gap %d), not %g", i, r[i].sum, r[i].gap, sum);
    }
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&resized));
}

// One element of 100,000 bytes: it must not be cut.
enum { BIG = 100000 };
static int whole_elements = 1;
static void big_add(void *in, void *inout, int *n, MPI_Datatype *type) {
    int bytes = 0;
    MPI_Type_size(*type, &bytes);
    if (bytes != BIG || *n < 1) whole_elements = 0;
    unsigned char *a = in, *b = inout;
    for (long i = 0; i < (long)*n * BIG; i++) b[i] = (unsigned char)(a[i] + b[i]);
}

static void big_elements(void) {
    MPI_Datatype type;
    MPI_Op op;
    unsigned char *a = get_memory(3 * BIG), *b = get_memory(3 * BIG);
    snprintf(what, sizeof what, "big elements");
    OK(MPI_Type_contiguous(BIG, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    for (int commute = 0; commute < 2; commute++) {
        OK(MPI_Op_create(big_add, commute, &op));
        for (long i = 0; i < 3 * BIG; i++) a[i] = (unsigned char)(i % 251 + rank), b[i] = 0;
        OK(MPI_Allreduce(a, b, 3, type, op, MPI_COMM_WORLD));
        CHECK(whole_elements);
        for (long i = 0; i < 3 * BIG; i++) {
            unsigned sum = 0;
            for (int p = 0; p < size; p++) sum += (unsigned)(i % 251 + p);
            if (b[i] != (unsigned char)sum) {
                WRONG("byte %ld is %d, not %d", i, b[i], (unsigned char)sum);
                break;
            }
        }
        OK(MPI_Op_free(&op));
    }
    OK(MPI_Type_free(&type));
    free(a);
    free(b);
}

int main(int argc, char **argv) {
    MPI_Datatype type;
    MPI_Op op;
    start(&argc, &argv);
    return_errors();
    OK(MPI_Type_contiguous(2, MPI_UINT64_T, &type));
    OK(MPI_Type_commit(&type));
    ask();
    OK(MPI_Op_create(join, 0, &op));
    words(op, type);
    OK(MPI_Op_free(&op));
#ifndef CHECK_NO_LARGE
    OK(MPI_Op_create_c(join_c, 0, &op));
    words(op, type);
    OK(MPI_Op_free(&op));
#endif
    freed_early(type);
    segments();
    big_elements();
    OK(MPI_Type_free(&type));
    return finish();
}
