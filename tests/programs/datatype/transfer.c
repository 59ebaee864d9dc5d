// ranks: 1 2 4
// Messages whose data has gaps, on either side or on both, from a few bytes to several MiB: what arrives, where, and
// that nothing else is touched. Partial messages are counted to the element.
#include "layout.h"

static int next, last;

// Sends `count` of `type` around the ring and receives into another type of equal signature.
static void exchange(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other) {
    MPI_Status status;
    OK(MPI_Sendrecv(from, n, type, next, 7, to, m, other, last, 7, MPI_COMM_WORLD, &status));
    int got = -1;
    OK(MPI_Get_count(&status, other, &got));
    CHECK_EQ(got, m);
}

// A column of a matrix becomes a row and the other way round.
static void columns(int n) {
    double *a = get_memory((size_t)n * n * sizeof *a), *b = get_memory((size_t)n * n * sizeof *b);
    MPI_Datatype column;
    OK(MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column));
    OK(MPI_Type_commit(&column));
    for (int i = 0; i < n * n; i++) a[i] = i + 0.25 * rank, b[i] = -1;
    exchange(a + n / 2, 1, column, b, n, MPI_DOUBLE);
    for (int i = 0; i < n; i++) CHECK(b[i] == n * i + n / 2 + 0.25 * last);
    for (int i = n; i < n * n; i++) CHECK(b[i] == -1);
    for (int i = 0; i < n * n; i++) b[i] = -1;
    exchange(a, n, MPI_DOUBLE, b + 1, 1, column);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) CHECK(b[i * n + j] == (j == 1 ? i + 0.25 * last : -1));
    for (int i = 0; i < n * n; i++) b[i] = -1;
    exchange(a + 2, 1, column, b + 1, 1, column);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) CHECK(b[i * n + j] == (j == 1 ? n * i + 2 + 0.25 * last : -1));
    OK(MPI_Type_free(&column));
    free(a);
    free(b);
}

// Every second block of a long array, in blocks of any size.
static void blocks(int n, int block) {
    size_t bytes = 2 * (size_t)n * block;
    unsigned char *a = get_memory(bytes), *b = get_memory(bytes);
    MPI_Datatype t;
    OK(MPI_Type_vector(n, block, 2 * block, MPI_BYTE, &t));
    OK(MPI_Type_commit(&t));
    fill(a, bytes, (unsigned)rank);
    memset(b, 0xee, bytes);
    exchange(a, 1, t, b, 1, t);
    fill(a, bytes, (unsigned)last);
    for (int i = 0; i < n; i++) {
        size_t at = 2 * (size_t)i * block;
        if (memcmp(a + at, b + at, (size_t)block)) CHECK_FAIL("block %d of %d bytes is wrong", i, block);
        if (i + 1 < n) CHECK_BYTES(b + at + block, block, 0xee);
    }
    OK(MPI_Type_free(&t));
    free(a);
    free(b);
}

typedef struct {
    int a;
    double b[3];
    char c;
} Record;

static MPI_Datatype record_type(void) {
    int lens[] = {1, 3, 1};
    MPI_Aint disps[] = {offsetof(Record, a), offsetof(Record, b), offsetof(Record, c)};
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, t;
    OK(MPI_Type_create_struct(3, lens, disps, types, &t));
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(t, &lb, &extent));
    CHECK_EQ(extent, (int)sizeof(Record));
    return committed(t);
}

static void records(int n) {
    Record *a = get_memory((size_t)n * sizeof *a), *b = get_memory((size_t)n * sizeof *b);
    MPI_Datatype t = record_type();
    memset(b, 0x5a, (size_t)n * sizeof *b);
    for (int i = 0; i < n; i++) a[i] = (Record){i + rank, {i, -i, 0.5 * i}, (char)(i + rank)};
    exchange(a, n, t, b, n, t);
    for (int i = 0; i < n; i++) {
        CHECK(b[i].a == i + last && b[i].b[0] == i && b[i].b[1] == -i && b[i].b[2] == 0.5 * i);
        CHECK_EQ(b[i].c, (char)(i + last));
        // The gaps of the struct are not sent.
        CHECK_BYTES((char *)&b[i] + offsetof(Record, a) + 4, 4, 0x5a);
        CHECK_BYTES((char *)&b[i] + offsetof(Record, c) + 1, 7, 0x5a);
    }
    OK(MPI_Type_free(&t));
    free(a);
    free(b);
}

// Part of a cube on one side, an irregular list on the other.
static void irregular(int n) {
    int sizes[] = {n, n, n}, subs[] = {n / 2, n - 2, n / 3}, starts[] = {1, 1, n / 2};
    int total = subs[0] * subs[1] * subs[2], *disps = get_memory((size_t)total * sizeof *disps);
    int *a = get_memory((size_t)n * n * n * sizeof *a), *b = get_memory(4 * (size_t)total * sizeof *b);
    MPI_Datatype cube, scattered;
    OK(MPI_Type_create_subarray(3, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &cube));
    OK(MPI_Type_commit(&cube));
    // From the end to the start, at uneven distances.
    for (int i = 0; i < total; i++) disps[i] = 4 * (total - 1 - i) + i % 3;
    OK(MPI_Type_create_indexed_block(total, 1, disps, MPI_INT, &scattered));
    OK(MPI_Type_commit(&scattered));
    for (int i = 0; i < n * n * n; i++) a[i] = i * 4 + rank;
    for (int i = 0; i < 4 * total; i++) b[i] = -1;
    exchange(a, 1, cube, b, 1, scattered);
    int at = 0;
    for (int i = 0; i < subs[0]; i++)
        for (int j = 0; j < subs[1]; j++)
            for (int k = 0; k < subs[2]; k++, at++) {
                int want = (((i + 1) * n + j + 1) * n + k + n / 2) * 4 + last;
                if (b[disps[at]] != want) CHECK_FAIL("element %d is %d, not %d", at, b[disps[at]], want);
                b[disps[at]] = -1;
            }
    for (int i = 0; i < 4 * total; i++) CHECK_EQ(b[i], -1);
    OK(MPI_Type_free(&cube));
    OK(MPI_Type_free(&scattered));
    free(disps);
    free(a);
    free(b);
}

// Addresses instead of displacements, with MPI_BOTTOM.
static void absolute(void) {
    int x = 10 + rank, y = -1;
    double z[2] = {rank, 0.5}, w[2] = {-1, -1};
    int lens[] = {1, 2};
    MPI_Aint from[2], to[2];
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, out, in;
    OK(MPI_Get_address(&x, &from[0]));
    OK(MPI_Get_address(z, &from[1]));
    OK(MPI_Get_address(&y, &to[0]));
    OK(MPI_Get_address(w, &to[1]));
    OK(MPI_Type_create_struct(2, lens, from, types, &out));
    OK(MPI_Type_create_struct(2, lens, to, types, &in));
    OK(MPI_Type_commit(&out));
    OK(MPI_Type_commit(&in));
    exchange(MPI_BOTTOM, 1, out, MPI_BOTTOM, 1, in);
    CHECK_EQ(y, 10 + last);
    CHECK(w[0] == last && w[1] == 0.5);
    OK(MPI_Type_free(&out));
    OK(MPI_Type_free(&in));
}

// Messages that end inside an element of the type.
static void partial(void) {
    MPI_Datatype t = record_type();
    Record records[4];
    char packed[4 * 29];
    MPI_Status status;
    // An int, three doubles and a char each: the number of basic elements for a number of bytes,
    // and -1 if an element is cut.
    static const struct {
        int bytes, count, elements;
    } table[] = {{0, 0, 0},   {3, -1, -1},  {4, -1, 1},  {12, -1, 2},  {13, -1, -1}, {28, -1, 4},  {29, 1, 5},
                 {33, -1, 6}, {57, -1, 9}, {58, 2, 10}, {62, -1, 11}, {86, -1, 14}, {116, 4, 20}};
    fill(packed, sizeof packed, 3);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int n = -7;
        MPI_Count wide = -7;
        memset(records, 0, sizeof records);
        OK(MPI_Sendrecv(packed, table[i].bytes, MPI_BYTE, next, 0, records, 4, t, last, 0, MPI_COMM_WORLD, &status));
        int count = table[i].count < 0 ? MPI_UNDEFINED : table[i].count;
        int elements = table[i].elements < 0 ? MPI_UNDEFINED : table[i].elements;
        OK(MPI_Get_count(&status, t, &n));
        CHECK_EQ(n, count);
        OK(MPI_Get_count_c(&status, t, &wide));
        CHECK_EQ(wide, count);
        OK(MPI_Get_elements(&status, t, &n));
        CHECK_EQ(n, elements);
        OK(MPI_Get_elements_c(&status, t, &wide));
        CHECK_EQ(wide, elements);
        wide = -7;
        OK(MPI_Get_elements_x(&status, t, &wide));
        CHECK_EQ(wide, elements);
        // A probe sees the same.
        MPI_Request request;
        OK(MPI_Isend(packed, table[i].bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &request));
        OK(MPI_Probe(last, 1, MPI_COMM_WORLD, &status));
        OK(MPI_Get_elements(&status, t, &n));
        CHECK_EQ(n, elements);
        OK(MPI_Recv(records, 4, t, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    // One and a half records: the first whole, of the second what came.
    memset(records, 0, sizeof records);
    OK(MPI_Sendrecv(packed, 41, MPI_BYTE, next, 0, records, 4, t, last, 0, MPI_COMM_WORLD, &status));
    CHECK(!memcmp(&records[0].a, packed, 4) && !memcmp(records[0].b, packed + 4, 24) && records[0].c == packed[28]);
    CHECK(!memcmp(&records[1].a, packed + 29, 4) && !memcmp(records[1].b, packed + 33, 8));
    CHECK(records[1].b[1] == 0 && records[1].c == 0 && records[2].a == 0);
    // A message that is too long fills the buffer and is an error.
    int code = MPI_Sendrecv(packed, 60, MPI_BYTE, next, 0, records, 2, t, last, 0, MPI_COMM_WORLD, &status);
    CHECK_EQ(check_class(code), MPI_ERR_TRUNCATE);
    OK(MPI_Type_free(&t));
    // The two halves of a pair are elements of their own.
    struct {
        double d;
        int i;
    } pair[2];
    int n = -1;
    OK(MPI_Sendrecv(packed, 20, MPI_BYTE, next, 0, pair, 2, MPI_DOUBLE_INT, last, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_elements(&status, MPI_DOUBLE_INT, &n));
    CHECK_EQ(n, 3);
    CHECK(!memcmp(&pair[0].d, packed, 8) && !memcmp(&pair[0].i, packed + 8, 4) && !memcmp(&pair[1].d, packed + 12, 8));
}

// A type may be freed while a message that uses it is under way, and an exchange may replace what it sent.
static void freed_and_replaced(int n) {
    double *a = get_memory(2 * (size_t)n * sizeof *a), *b = get_memory(2 * (size_t)n * sizeof *b);
    MPI_Datatype t, u;
    MPI_Request requests[2];
    for (int i = 0; i < 2 * n; i++) a[i] = i + rank, b[i] = -1;
    OK(MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Type_dup(t, &u));
    OK(MPI_Irecv(b, 1, t, last, 5, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Type_free(&t));
    OK(MPI_Isend(a, 1, u, next, 5, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Type_free(&u));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2 * n; i++) CHECK(b[i] == (i % 2 ? -1 : i + last));
    OK(MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Sendrecv_replace(a + 1, 1, t, next, 6, last, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * n; i++) CHECK(a[i] == i + (i % 2 ? last : rank));
    OK(MPI_Type_free(&t));
    free(a);
    free(b);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    static const int orders[] = {3, 10, 60, 300, 1000};
    for (int i = 0; i < 5; i++) columns(orders[i]);
    static const int lengths[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 31, 64, 100, 1000, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        blocks(5, lengths[i]);
        blocks(1000, lengths[i]);
        blocks(3000000 / (lengths[i] + 20), lengths[i]);
    }
    records(1);
    records(50);
    records(3000);
    records(100000);
    irregular(6);
    irregular(20);
    irregular(90);
    absolute();
    partial();
    freed_and_replaced(4);
    freed_and_replaced(5000);
    freed_and_replaced(500000);
    return finish();
}
