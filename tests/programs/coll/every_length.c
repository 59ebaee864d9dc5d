// ranks: 1 2 3 5 8
// timeout: 120
// Every collective operation over lengths from one element to most of a megabyte, so that each algorithm that the table may choose
// has its turn, with an operation that does not commute: results must be those of the ranks in order.
#include "../check.h"

// A line a x + b over the integers modulo 2^32. Applying one after the other is associative and does not commute.
typedef struct {
    uint32_t a, b;
} line;

static MPI_Datatype LINE;
static MPI_Op AFTER;

static void compose(void *in, void *inout, int *len, MPI_Datatype *type) {
    (void)type;
    line *left = in, *right = inout;
    for (int i = 0; i < *len; i++) {
        right[i].b += right[i].a * left[i].b;
        right[i].a *= left[i].a;
    }
}

// What a rank gives for an element.
static line operand(int from, long i) {
    line l = {(uint32_t)(2 * (from * 31 + i % 1009) + 3), (uint32_t)(from * 7919 + i % 4001 + 1)};
    return l;
}

// Ranks first to last - 1 in order.
static line expected(int first, int last, long i) {
    line all = {1, 0};
    for (int from = first; from < last; from++) {
        line next = operand(from, i);
        int one = 1;
        compose(&all, &next, &one, NULL);
        all = next;
    }
    return all;
}

static void operands(line *to, int from, long start, long count) {
    for (long i = 0; i < count; i++) to[i] = operand(from, start + i);
}

// Elements from start on of the combination of some ranks.
static void verify(const line *got, int first, int last, long start, long count, const char *what) {
    for (long i = 0; i < count; i++) {
        line want = expected(first, last, start + i);
        if (got[i].a != want.a || got[i].b != want.b)
            CHECK_FAIL("%s of %ld: element %ld is %u x + %u instead of %u x + %u", what, count, start + i, got[i].a,
                       got[i].b, want.a, want.b);
    }
}

static void *room(long elements, size_t each) {
    void *memory = malloc((size_t)elements * each + 1);
    CHECK(memory != NULL);
    memset(memory, 0x5a, (size_t)elements * each + 1);
    return memory;
}

static const long LENGTHS[] = {0, 1, 7, 600, 3000, 20000, 100000};
#define LENGTHS_COUNT (int)(sizeof LENGTHS / sizeof LENGTHS[0])

static void vectors(long n) {
    line *mine = room(n, sizeof(line)), *got = room(n, sizeof(line));
    operands(mine, rank, 0, n);
    for (int root = 0; root < size; root += size > 4 && n > 5000 ? 3 : 1) {
        memset(got, 0, (size_t)n * sizeof(line));
        if (rank == root) operands(got, 77, 0, n);
        OK(MPI_Bcast(got, (int)n, LINE, root, MPI_COMM_WORLD));
        for (long i = 0; i < n; i++) CHECK(got[i].a == operand(77, i).a && got[i].b == operand(77, i).b);

        memset(got, 0, (size_t)n * sizeof(line));
        OK(MPI_Reduce(mine, got, (int)n, LINE, AFTER, root, MPI_COMM_WORLD));
        if (rank == root) verify(got, 0, size, 0, n, "reduce");
        memcpy(got, mine, (size_t)n * sizeof(line));
        OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, got, (int)n, LINE, AFTER, root, MPI_COMM_WORLD));
        if (rank == root) verify(got, 0, size, 0, n, "reduce in place");
    }
    OK(MPI_Allreduce(mine, got, (int)n, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, size, 0, n, "allreduce");
    memcpy(got, mine, (size_t)n * sizeof(line));
    OK(MPI_Allreduce(MPI_IN_PLACE, got, (int)n, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, size, 0, n, "allreduce in place");
    OK(MPI_Scan(mine, got, (int)n, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, rank + 1, 0, n, "scan");
    memcpy(got, mine, (size_t)n * sizeof(line));
    OK(MPI_Scan(MPI_IN_PLACE, got, (int)n, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, rank + 1, 0, n, "scan in place");
    OK(MPI_Exscan(mine, got, (int)n, LINE, AFTER, MPI_COMM_WORLD));
    if (rank > 0) verify(got, 0, rank, 0, n, "exscan");
    memcpy(got, mine, (size_t)n * sizeof(line));
    OK(MPI_Exscan(MPI_IN_PLACE, got, (int)n, LINE, AFTER, MPI_COMM_WORLD));
    if (rank > 0) verify(got, 0, rank, 0, n, "exscan in place");
    else CHECK(memcmp(got, mine, (size_t)n * sizeof(line)) == 0);

    // What commutes may go other ways.
    uint32_t *sum = room(2 * n, sizeof *sum);
    OK(MPI_Allreduce(mine, sum, (int)(2 * n), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
    for (int again = 0; again < 2; again++) {
        for (long i = 0; i < n; i++) {
            uint32_t a = 0, b = 0;
            for (int from = 0; from < size; from++) a += operand(from, i).a, b += operand(from, i).b;
            CHECK_EQ(sum[2 * i], a);
            CHECK_EQ(sum[2 * i + 1], b);
        }
        memcpy(sum, mine, (size_t)n * sizeof(line));
        OK(MPI_Allreduce(MPI_IN_PLACE, sum, (int)(2 * n), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
    }
    free(sum);
    free(mine);
    free(got);
}

// The result of n elements, dealt out.
static void dealt(long n) {
    int *counts = room(size, sizeof(int));
    long total = 0, start = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = (int)(i % 3 == 1 ? 0 : n / size + i);
        if (i < rank) start += counts[i];
        total += counts[i];
    }
    line *mine = room(total, sizeof(line)), *got = room(total, sizeof(line));
    operands(mine, rank, 0, total);
    OK(MPI_Reduce_scatter(mine, got, counts, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, size, start, counts[rank], "reduce_scatter");
    memcpy(got, mine, (size_t)total * sizeof(line));
    OK(MPI_Reduce_scatter(MPI_IN_PLACE, got, counts, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, size, start, counts[rank], "reduce_scatter in place");
    free(mine);
    free(got);
    long each = n / size;
    mine = room(each * size, sizeof(line)), got = room(each * size, sizeof(line));
    operands(mine, rank, 0, each * size);
    OK(MPI_Reduce_scatter_block(mine, got, (int)each, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, size, each * rank, each, "reduce_scatter_block");
    memcpy(got, mine, (size_t)(each * size) * sizeof(line));
    OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, got, (int)each, LINE, AFTER, MPI_COMM_WORLD));
    verify(got, 0, size, each * rank, each, "reduce_scatter_block in place");
    free(mine);
    free(got);
    free(counts);
}

// What goes from one rank to another: n elements of it.
static void put(uint64_t *to, int from, int target, long n) {
    for (long k = 0; k < n; k++) to[k] = (uint64_t)from << 40 | (uint64_t)target << 32 | (uint64_t)k;
}

static void same(const uint64_t *got, int from, int target, long n, const char *what) {
    for (long k = 0; k < n; k++) {
        uint64_t want = (uint64_t)from << 40 | (uint64_t)target << 32 | (uint64_t)k;
        if (got[k] != want)
            CHECK_FAIL("%s of %ld: element %ld from %d for %d is %llx", what, n, k, from, target,
                       (unsigned long long)got[k]);
    }
}

static void blocks(long n) {
    uint64_t *one = room(n, 8), *out = room(n * size, 8), *got = room(n * size, 8);
    put(one, rank, 0, n);
    for (int root = 0; root < size; root += size > 4 && n > 5000 ? 3 : 1) {
        OK(MPI_Gather(one, (int)n, MPI_UINT64_T, got, (int)n, MPI_UINT64_T, root, MPI_COMM_WORLD));
        for (int i = 0; i < size && rank == root; i++) same(got + i * n, i, 0, n, "gather");
        for (int i = 0; i < size; i++) put(out + i * n, root, i, n);
        OK(MPI_Scatter(out, (int)n, MPI_UINT64_T, got, (int)n, MPI_UINT64_T, root, MPI_COMM_WORLD));
        same(got, root, rank, n, "scatter");
    }
    OK(MPI_Allgather(one, (int)n, MPI_UINT64_T, got, (int)n, MPI_UINT64_T, MPI_COMM_WORLD));
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < size; i++) same(got + i * n, i, 0, n, "allgather");
        memset(got, 0, (size_t)(n * size) * 8);
        put(got + rank * n, rank, 0, n);
        OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, (int)n, MPI_UINT64_T, MPI_COMM_WORLD));
    }
    // Received with gaps.
    MPI_Datatype wide;
    OK(MPI_Type_create_resized(MPI_UINT64_T, 0, 16, &wide));
    OK(MPI_Type_commit(&wide));
    uint64_t *gaps = room(2 * n * size, 8);
    OK(MPI_Allgather(one, (int)n, MPI_UINT64_T, gaps, (int)n, wide, MPI_COMM_WORLD));
    for (long i = 0; i < n * size; i++) got[i] = gaps[2 * i];
    for (int i = 0; i < size; i++) same(got + i * n, i, 0, n, "allgather with gaps");
    for (long i = 0; i < n * size; i++) CHECK(gaps[2 * i + 1] == 0x5a5a5a5a5a5a5a5a);
    free(gaps);
    OK(MPI_Type_free(&wide));
    for (int i = 0; i < size; i++) put(out + i * n, rank, i, n);
    OK(MPI_Alltoall(out, (int)n, MPI_UINT64_T, got, (int)n, MPI_UINT64_T, MPI_COMM_WORLD));
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < size; i++) same(got + i * n, i, rank, n, "alltoall");
        memcpy(got, out, (size_t)(n * size) * 8);
        OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, got, (int)n, MPI_UINT64_T, MPI_COMM_WORLD));
    }
    free(one);
    free(out);
    free(got);
}

// Blocks of different lengths, those of odd neighbours empty, with gaps between them.
static void spread(long n) {
    int *counts = room(size, sizeof(int)), *displs = room(size, sizeof(int)), *bytes = room(size, sizeof(int));
    MPI_Datatype *types = room(size, sizeof *types);
    int at = 1;
    for (int i = 0; i < size; i++) {
        counts[i] = (i + rank) % 3 == 1 ? 0 : (int)(n / (1 + i + rank)) + i + rank;
        displs[i] = at;
        bytes[i] = 8 * at;
        types[i] = MPI_UINT64_T;
        at += counts[i] + 1;
    }
    uint64_t *out = room(at, 8), *got = room(at, 8);
    for (int i = 0; i < size; i++) put(out + displs[i], rank, i, counts[i]);
    for (int form = 0; form < 4; form++) {
        const void *send = form % 2 ? MPI_IN_PLACE : (const void *)out;
        if (form % 2) memcpy(got, out, (size_t)at * 8);
        else memset(got, 0, (size_t)at * 8);
        if (form < 2)
            OK(MPI_Alltoallv(send, counts, displs, MPI_UINT64_T, got, counts, displs, MPI_UINT64_T, MPI_COMM_WORLD));
        else OK(MPI_Alltoallw(send, counts, bytes, types, got, counts, bytes, types, MPI_COMM_WORLD));
        for (int i = 0; i < size; i++) same(got + displs[i], i, rank, counts[i], form < 2 ? "alltoallv" : "alltoallw");
    }
    free(out);
    free(got);
    at = 1;
    for (int i = 0; i < size; i++) {
        counts[i] = i % 3 == 1 ? 0 : (int)(n / (1 + i)) + i;
        displs[i] = at;
        at += counts[i] + 1;
    }
    out = room(at, 8), got = room(at, 8);
    put(out, rank, 0, counts[rank]);
    for (int form = 0; form < 2; form++) {
        memset(got, 0, (size_t)at * 8);
        if (form) put(got + displs[rank], rank, 0, counts[rank]);
        OK(MPI_Allgatherv(form ? MPI_IN_PLACE : (const void *)out, counts[rank], MPI_UINT64_T, got, counts, displs,
                          MPI_UINT64_T, MPI_COMM_WORLD));
        for (int i = 0; i < size; i++) same(got + displs[i], i, 0, counts[i], "allgatherv");
    }
    free(out);
    free(got);
    free(counts);
    free(displs);
    free(bytes);
    free(types);
}

// Between the ranks below a third of the world and the others. Operands are those of ranks in the world.
static void between(long n) {
    int third = (size + 2) / 3, low = rank < third;
    MPI_Comm local, inter;
    OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? third : 0, 3, &inter));
    int theirs = low ? third : 0, many, ours;
    OK(MPI_Comm_remote_size(inter, &many));
    OK(MPI_Comm_size(inter, &ours));
    line *mine = room(n, sizeof(line)), *got = room(n, sizeof(line));
    operands(mine, rank, 0, n);
    OK(MPI_Barrier(inter));
    OK(MPI_Allreduce(mine, got, (int)n, LINE, AFTER, inter));
    verify(got, theirs, theirs + many, 0, n, "allreduce between groups");
    for (int root = 0; root < size; root++) {
        int mine_has_it = (root < third) == low;
        int local_root = root < third ? root : root - third;
        int argument = !mine_has_it ? local_root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
        memset(got, 0, (size_t)n * sizeof(line));
        OK(MPI_Reduce(mine, got, (int)n, LINE, AFTER, argument, inter));
        if (rank == root) verify(got, theirs, theirs + many, 0, n, "reduce between groups");
        if (rank == root) operands(got, root, 0, n);
        OK(MPI_Bcast(got, (int)n, LINE, argument, inter));
        if (!mine_has_it)
            for (long i = 0; i < n; i++) CHECK(got[i].a == operand(root, i).a && got[i].b == operand(root, i).b);
    }
    // A vector that both groups can deal out.
    long each = n / (ours * many) * many, total = each * ours;
    OK(MPI_Reduce_scatter_block(mine, got, (int)each, LINE, AFTER, inter));
    int place;
    OK(MPI_Comm_rank(inter, &place));
    verify(got, theirs, theirs + many, place * each, each, "reduce_scatter between groups");
    CHECK(total <= n);
    free(mine);
    free(got);

    uint64_t *out = room(n * many, 8), *in = room(n * many, 8);
    for (int i = 0; i < many; i++) put(out + i * n, rank, theirs + i, n);
    OK(MPI_Alltoall(out, (int)n, MPI_UINT64_T, in, (int)n, MPI_UINT64_T, inter));
    for (int i = 0; i < many; i++) same(in + i * n, theirs + i, rank, n, "alltoall between groups");
    put(out, rank, 0, n);
    OK(MPI_Allgather(out, (int)n, MPI_UINT64_T, in, (int)n, MPI_UINT64_T, inter));
    for (int i = 0; i < many; i++) same(in + i * n, theirs + i, 0, n, "allgather between groups");
    free(out);
    free(in);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    OK(MPI_Type_contiguous(2, MPI_UINT32_T, &LINE));
    OK(MPI_Type_commit(&LINE));
    OK(MPI_Op_create(compose, 0, &AFTER));
    for (int i = 0; i < LENGTHS_COUNT; i++) {
        vectors(LENGTHS[i]);
        dealt(LENGTHS[i]);
        blocks(LENGTHS[i] / 10);
        spread(LENGTHS[i] / 5);
        if (size > 1) between(LENGTHS[i] / 5);
    }
    OK(MPI_Op_free(&AFTER));
    OK(MPI_Type_free(&LINE));
    return finish();
}
