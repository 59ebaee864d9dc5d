// ranks: 1 2 3 8
// cflags: -O2
// Long rows far apart, which are copied straight from rows to rows: of equal and of different lengths on the two sides, one
// side without gaps, backwards, by address, more rows than a system call takes, messages shorter and longer than their
// receive, many at once.
#include "layout.h"

#ifndef PREPARE
#define PREPARE()
#endif

static int next, last;

// Rows of `len` bytes every `step`; `rows` of them, the last one shorter when `total` is no multiple.
typedef struct {
    size_t total, len;
    ptrdiff_t step;
} Rows;

static MPI_Datatype rows_type(Rows r) {
    MPI_Datatype whole, rest, both;
    int n = (int)(r.total / r.len), left = (int)(r.total % r.len);
    OK(MPI_Type_create_hvector(n, (int)r.len, r.step, MPI_BYTE, &whole));
    OK(MPI_Type_contiguous(left, MPI_BYTE, &rest));
    int lens[] = {1, 1};
    MPI_Aint disps[] = {0, n * r.step};
    MPI_Datatype types[] = {whole, rest};
    OK(MPI_Type_create_struct(2, lens, disps, types, &both));
    OK(MPI_Type_free(&whole));
    OK(MPI_Type_free(&rest));
    return committed(both);
}

static size_t span(Rows r) { return (r.total / r.len + 1) * (size_t)labs((long)r.step) + r.len; }

// Where the rows begin in an area of span(r) bytes.
static char *origin(Rows r, char *area) {
    return r.step < 0 ? area + (size_t)-r.step * (r.total / r.len + 1) : area;
}

static char byte_at(size_t i, int from) { return (char)((i * 2654435761u >> 7) + (size_t)from * 77 + 1); }

static void write_rows(Rows r, char *at, int from) {
    for (size_t i = 0; i < r.total; i++) at[(ptrdiff_t)(i / r.len) * r.step + (ptrdiff_t)(i % r.len)] = byte_at(i, from);
}

// The first `got` bytes have come, the others and the gaps are as they were.
static void check_rows(Rows r, char *area, size_t got, int from) {
    char *at = origin(r, area);
    for (size_t i = 0; i < r.total; i++) {
        char *p = at + (ptrdiff_t)(i / r.len) * r.step + (ptrdiff_t)(i % r.len);
        char want = i < got ? byte_at(i, from) : 0x6b;
        if (*p != want) CHECK_FAIL("byte %zu of %zu in rows of %zu is %d, not %d", i, r.total, r.len, *p, want);
        *p = 0x6b;
    }
    CHECK_BYTES(area, span(r), 0x6b);
}

static void exchange(Rows out, Rows in) {
    char *a = get_memory(span(out)), *b = get_memory(span(in));
    MPI_Datatype from = rows_type(out), to = rows_type(in);
    MPI_Status status;
    MPI_Count got = -1;
    memset(b, 0x6b, span(in));
    write_rows(out, origin(out, a), rank);
    int code = MPI_Sendrecv(origin(out, a), 1, from, next, 3, origin(in, b), 1, to, last, 3, MPI_COMM_WORLD, &status);
    size_t arrived = out.total < in.total ? out.total : in.total;
    CHECK_EQ(check_class(code), out.total > in.total ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    if (code == MPI_SUCCESS) {
        OK(MPI_Get_elements_c(&status, to, &got));
        CHECK_EQ(got, arrived);
    }
    check_rows(in, b, arrived, last);
    // By address, and with a type that is freed before the receive.
    if (out.total <= in.total) {
        MPI_Request requests[2];
        MPI_Datatype there;
        MPI_Aint place;
        int one = 1;
        OK(MPI_Get_address(origin(in, b), &place));
        OK(MPI_Type_create_struct(1, &one, &place, &to, &there));
        OK(MPI_Type_commit(&there));
        OK(MPI_Irecv(MPI_BOTTOM, 1, there, last, 4, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Type_free(&there));
        OK(MPI_Issend(origin(out, a), 1, from, next, 4, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        check_rows(in, b, arrived, last);
    }
    OK(MPI_Type_free(&from));
    OK(MPI_Type_free(&to));
    free(a);
    free(b);
}

// Several messages under way at once, received in the opposite order.
static void many(void) {
    enum { N = 12 };
    Rows out = {200000, 3000, 5000}, in = {200000, 7000, 9000};
    MPI_Datatype from = rows_type(out), to = rows_type(in);
    MPI_Request requests[2 * N];
    char *a = get_memory(span(out) * N), *b = get_memory(span(in) * N);
    memset(b, 0x6b, span(in) * N);
    for (int i = 0; i < N; i++) {
        write_rows(out, a + i * span(out), rank + i);
        OK(MPI_Isend(a + i * span(out), 1, from, next, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = N - 1; i >= 0; i--)
        OK(MPI_Irecv(b + i * span(in), 1, to, last, i, MPI_COMM_WORLD, &requests[N + i]));
    OK(MPI_Waitall(2 * N, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++) check_rows(in, b + i * span(in), in.total, last + i);
    OK(MPI_Type_free(&from));
    OK(MPI_Type_free(&to));
    free(a);
    free(b);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    PREPARE();
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    static const size_t lens[] = {300, 2047, 2048, 4096, 8192, 100000};
    enum { N = sizeof lens / sizeof *lens };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            size_t total = 300000 + 13 * (size_t)i;
            Rows out = {total, lens[i], (ptrdiff_t)(lens[i] + 100)}, in = {total, lens[k], (ptrdiff_t)(2 * lens[k])};
            exchange(out, in);
        }
    Rows dense = {500000, 500000, 500000}, rows = {500000, 2500, 4000}, back = {500000, 3000, -5001};
    exchange(dense, rows);
    exchange(rows, dense);
    exchange(back, rows);
    exchange(rows, back);
    exchange(back, dense);
    // More than 1,024 rows in a part of the copy.
    Rows far = {8u << 20, 2048, 2056}, tight = {8u << 20, 2100, 2101};
    exchange(far, tight);
    // Shorter than the receive, and longer.
    exchange((Rows){70001, 2500, 4000}, rows);
    exchange(rows, (Rows){70001, 2500, 4000});
    exchange(rows, (Rows){90001, 90001, 90001});
    many();
    return finish();
}
