// ranks: 1 2 4
// timeout: 60
// Accumulates of derived types far longer than what is worked on at a time: rows of bytes and of numbers, columns, and pairs
// with gaps, each side laid out differently, with what was there returned, on windows of every kind; what lies between
// stays. The origin of MPI_Get_accumulate that is shorter than the target leaves the rest as it is.
#include "windows.h"

enum { ROWS = 300, WIDTH = 1000, PITCH = 1203 };

static MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype rows(int count, int width, int pitch, MPI_Datatype of) {
    MPI_Datatype type;
    MPI_Type_vector(count, width, pitch, of, &type);
    return committed(type);
}

static unsigned char byte_at(int seed, int i) { return (unsigned char)(seed * 31 + i * 7 + i / 251); }

// Bytes are replaced or combined; the target has rows, the origin has others, the result has a third layout.
static void bytes(int kind, MPI_Op op, int part) {
    const int next = (rank + 1) % size, total = ROWS * WIDTH, given = part ? total / 3 / 100 * 100 : total;
    Window w = window(kind, (size_t)ROWS * PITCH, 1);
    MPI_Datatype target = rows(ROWS, WIDTH, PITCH, MPI_UNSIGNED_CHAR);
    MPI_Datatype origin = rows(given / 100, 100, 131, MPI_UNSIGNED_CHAR);
    MPI_Datatype result = rows(total / 50, 50, 57, MPI_UNSIGNED_CHAR);
    unsigned char *from = get_memory((size_t)given / 100 * 131), *old = get_memory((size_t)total / 50 * 57);
    unsigned char *cells = (unsigned char *)w.base;
    memset(old, 0xee, (size_t)total / 50 * 57);
    for (int i = 0; i < given / 100 * 131; i++) from[i] = 0xdd;
    for (int i = 0; i < given; i++) from[i / 100 * 131 + i % 100] = byte_at(rank + 1, i);
    OK(MPI_Win_fence(0, w.win));
    for (int i = 0; i < ROWS * PITCH; i++) cells[i] = (unsigned char)(i + rank);
    OK(MPI_Win_fence(0, w.win));
    OK(MPI_Get_accumulate(from, 1, origin, old, 1, result, next, place(&w, next, 0), 1, target, op, w.win));
    OK(MPI_Win_fence(0, w.win));
    const int before = (rank + size - 1) % size;
    for (int i = 0; i < ROWS * PITCH; i++) {
        const int element = i / PITCH * WIDTH + i % PITCH, mine = (unsigned char)(i + rank);
        int expected = mine;
        if (i % PITCH < WIDTH && element < given && op != MPI_NO_OP) {
            const int theirs = byte_at(before + 1, element);
            expected = op == MPI_REPLACE ? theirs : op == MPI_SUM ? (unsigned char)(mine + theirs) : (mine | theirs);
        }
        if (cells[i] != expected) CHECK_FAIL("kind %d: byte %d is %d, not %d", kind, i, cells[i], expected);
    }
    for (int i = 0; i < total / 50 * 57; i++) {
        const int element = i / 57 * 50 + i % 57, at = element / WIDTH * PITCH + element % WIDTH;
        const int expected = i % 57 < 50 ? (unsigned char)(at + next) : 0xee;
        if (i / 57 == total / 50 - 1 && i % 57 >= 50) break;
        if (old[i] != expected) CHECK_FAIL("kind %d: result %d is %d, not %d", kind, i, old[i], expected);
    }
    OK(MPI_Win_fence(0, w.win));
    MPI_Type_free(&target);
    MPI_Type_free(&origin);
    MPI_Type_free(&result);
    free(from);
    free(old);
    window_free(&w);
}

typedef struct {
    double value;
    int index, gap;
} Pair;

// Columns of pairs, which have gaps of their own.
static void pairs(int kind, MPI_Op op) {
    enum { LONG = 9000 };
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    Window w = window(kind, 2 * LONG * sizeof(Pair), sizeof(Pair));
    MPI_Datatype column = rows(LONG, 1, 2, MPI_DOUBLE_INT);
    Pair *from = get_memory(LONG * sizeof *from), *old = get_memory(2 * LONG * sizeof *old), *cells = (Pair *)w.base;
    for (int i = 0; i < LONG; i++) from[i] = (Pair){(i * 7 + rank) % 100, rank, -1};
    for (int i = 0; i < 2 * LONG; i++) old[i] = (Pair){-5, -5, -5};
    OK(MPI_Win_fence(0, w.win));
    for (int i = 0; i < 2 * LONG; i++) cells[i] = (Pair){50, 1000 + rank, 77};
    OK(MPI_Win_fence(0, w.win));
    OK(MPI_Get_accumulate(from, LONG, MPI_DOUBLE_INT, old, 1, column, next, place(&w, next, 0), 1, column, op, w.win));
    OK(MPI_Win_fence(0, w.win));
    for (int i = 0; i < 2 * LONG; i++) {
        const double theirs = (i / 2 * 7 + before) % 100;
        const int taken = i % 2 == 0 && (op == MPI_REPLACE || (op == MPI_MAXLOC && (theirs > 50 || (theirs == 50 && before < 1000))));
        CHECK(cells[i].value == (taken ? theirs : 50));
        CHECK_EQ(cells[i].index, taken ? before : 1000 + rank);
        CHECK_EQ(cells[i].gap, 77);
        CHECK(old[i].value == (i % 2 ? -5 : 50));
        CHECK_EQ(old[i].index, i % 2 ? -5 : 1000 + next);
        CHECK_EQ(old[i].gap, -5);
    }
    OK(MPI_Win_fence(0, w.win));
    MPI_Type_free(&column);
    free(from);
    free(old);
    window_free(&w);
}

// From a column to a row without a result, with all ranks at the same elements.
static void columns(int kind) {
    enum { LONG = 20000 };
    Window w = window(kind, LONG * sizeof(int64_t), sizeof(int64_t));
    MPI_Datatype column = rows(LONG, 1, 3, MPI_INT64_T);
    int64_t *from = get_memory(3 * LONG * sizeof *from), *cells = (int64_t *)w.base;
    for (int i = 0; i < 3 * LONG; i++) from[i] = i % 3 ? -1 : i / 3 + rank;
    OK(MPI_Win_fence(0, w.win));
    OK(MPI_Accumulate(from, 1, column, 0, place(&w, 0, 0), LONG, MPI_INT64_T, MPI_SUM, w.win));
    OK(MPI_Win_fence(0, w.win));
    if (rank == 0)
        for (int i = 0; i < LONG; i++) CHECK_EQ(cells[i], (int64_t)size * i + size * (size - 1) / 2);
    OK(MPI_Win_fence(0, w.win));
    MPI_Type_free(&column);
    free(from);
    window_free(&w);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int part = 0; part < 2; part++) {
            bytes(kind, MPI_REPLACE, part);
            bytes(kind, MPI_SUM, part);
            bytes(kind, MPI_BOR, part);
            bytes(kind, MPI_NO_OP, part);
        }
        pairs(kind, MPI_REPLACE);
        pairs(kind, MPI_MAXLOC);
        pairs(kind, MPI_NO_OP);
        columns(kind);
    }
    MPI_Finalize();
    return 0;
}
