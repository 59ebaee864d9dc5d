// ranks: 1 2 4 8
// timeout: 90
// cflags: -lm
// Every operation on every group of types, from all ranks at once on the same elements, on windows of every kind: the
// result is exact, and what the fetching forms return is what some order of all operations would have returned.
#include "windows.h"
#include <complex.h>

#define COUNT 37

// All ranks apply op with value(rank, i) to element i of rank 0; the expected value is folded over ranks in order, which
// makes no difference for the operations that are tested.
#define FOLD(kind, ctype, mpitype, op, first, value, combine)                                              \
    do {                                                                                                   \
        Window w = window(kind, COUNT * sizeof(ctype), sizeof(ctype));                                     \
        const int unit = (int)sizeof(ctype) / w.unit;                                                      \
        ctype mine[COUNT], *cells = (ctype *)w.base;                                                       \
        if (rank == 0)                                                                                     \
            for (int i = 0; i < COUNT; i++) cells[i] = (first);                                            \
        for (int i = 0, r = rank; i < COUNT; i++) mine[i] = (value);                                       \
        MPI_Win_fence(0, w.win);                                                                           \
        MPI_Accumulate(mine, COUNT, mpitype, 0, place(&w, 0, 0), COUNT, mpitype, op, w.win);               \
        MPI_Accumulate(mine, 1, mpitype, 0, place(&w, 0, 0 * unit), 1, mpitype, op, w.win);                \
        MPI_Win_fence(0, w.win);                                                                           \
        if (rank == 0)                                                                                     \
            for (int i = 0; i < COUNT; i++) {                                                              \
                ctype a = (first);                                                                         \
                for (int again = 0; again <= (i == 0); again++)                                            \
                    for (int r = 0; r < size; r++) {                                                       \
                        ctype b = (value);                                                                 \
                        a = (ctype)(combine);                                                              \
                    }                                                                                      \
                if (memcmp(&a, &cells[i], sizeof(ctype) > 10 ? 10 : sizeof(ctype)))                        \
                    CHECK_FAIL("%s of %s on a %s window: element %d is wrong", #op, #mpitype, kind_names[kind], i); \
            }                                                                                              \
        MPI_Win_fence(0, w.win);                                                                           \
        window_free(&w);                                                                                   \
    } while (0)

#define INTEGERS(kind, ctype, mpitype)                                                  \
    do {                                                                                \
        FOLD(kind, ctype, mpitype, MPI_SUM, (ctype)3, (ctype)(r + i), a + b);           \
        FOLD(kind, ctype, mpitype, MPI_PROD, (ctype)1, (ctype)(1 + (r + i) % 3), a * b); \
        FOLD(kind, ctype, mpitype, MPI_MAX, (ctype)5, (ctype)((r * 7 + i) % 11), a > b ? a : b); \
        FOLD(kind, ctype, mpitype, MPI_MIN, (ctype)5, (ctype)((r * 7 + i) % 11), a < b ? a : b); \
        FOLD(kind, ctype, mpitype, MPI_BXOR, (ctype)1, (ctype)(r * 5 + i), a ^ b);      \
        FOLD(kind, ctype, mpitype, MPI_BAND, (ctype)127, (ctype)~(1 << (r % 7)), a & b); \
        FOLD(kind, ctype, mpitype, MPI_BOR, (ctype)1, (ctype)(1 << (r % 7)), a | b);    \
        FOLD(kind, ctype, mpitype, MPI_LAND, (ctype)1, (ctype)((r + i) % 4), a && b);   \
        FOLD(kind, ctype, mpitype, MPI_LOR, (ctype)0, (ctype)((r + i) % 4 == 0), a || b); \
        FOLD(kind, ctype, mpitype, MPI_LXOR, (ctype)0, (ctype)((r + i) % 4 == 0), !a != !b); \
    } while (0)

#define REALS(kind, ctype, mpitype)                                                 \
    do {                                                                            \
        FOLD(kind, ctype, mpitype, MPI_SUM, (ctype)3, (ctype)(r * 4 + i), a + b);   \
        FOLD(kind, ctype, mpitype, MPI_PROD, (ctype)1, (ctype)(1 + r % 2), a * b);  \
        FOLD(kind, ctype, mpitype, MPI_MAX, (ctype)5, (ctype)((r * 7 + i) % 11), a > b ? a : b); \
        FOLD(kind, ctype, mpitype, MPI_MIN, (ctype)5, (ctype)((r * 7 + i) % 11), a < b ? a : b); \
    } while (0)

static void all_types(int kind) {
    INTEGERS(kind, signed char, MPI_SIGNED_CHAR);
    INTEGERS(kind, unsigned short, MPI_UNSIGNED_SHORT);
    INTEGERS(kind, int, MPI_INT);
    INTEGERS(kind, uint64_t, MPI_UINT64_T);
    FOLD(kind, MPI_Aint, MPI_AINT, MPI_SUM, 3, r + i, a + b);
    FOLD(kind, unsigned char, MPI_BYTE, MPI_BOR, 1, (unsigned char)(1 << (r % 7)), a | b);
    FOLD(kind, _Bool, MPI_C_BOOL, MPI_LOR, 0, (r + i) % 4 == 0, a || b);
    REALS(kind, float, MPI_FLOAT);
    REALS(kind, double, MPI_DOUBLE);
    REALS(kind, long double, MPI_LONG_DOUBLE);
    FOLD(kind, double complex, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 1, r + i * I, a + b);
    FOLD(kind, float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM, 1, r + i * I, a + b);
}

// Pairs, with gaps in them and without.
#define PAIRS(kind, ctype, mpitype)                                                                       \
    do {                                                                                                  \
        typedef struct { ctype value; int index; } Pair;                                                  \
        Window w = window(kind, COUNT * sizeof(Pair), sizeof(Pair));                                      \
        Pair mine[COUNT], *cells = (Pair *)w.base;                                                        \
        memset(mine, 0, sizeof mine);                                                                     \
        memset(w.base, 0x55, COUNT * sizeof(Pair));                                                       \
        for (int i = 0; i < COUNT; i++) {                                                                 \
            mine[i].value = (ctype)((rank * 5 + i) % size), mine[i].index = rank;                         \
            cells[i].value = (ctype)100, cells[i].index = 1000;                                           \
        }                                                                                                 \
        MPI_Win_fence(0, w.win);                                                                          \
        MPI_Accumulate(mine, COUNT, mpitype, 0, place(&w, 0, 0), COUNT, mpitype, MPI_MINLOC, w.win);      \
        MPI_Win_fence(0, w.win);                                                                          \
        if (rank == 0)                                                                                    \
            for (int i = 0; i < COUNT; i++) {                                                             \
                int best = 0;                                                                             \
                for (int r = 0; r < size; r++)                                                            \
                    if ((r * 5 + i) % size < (best * 5 + i) % size) best = r;                             \
                CHECK_EQ(cells[i].value, (best * 5 + i) % size);                                          \
                CHECK_EQ(cells[i].index, best);                                                           \
            }                                                                                             \
        MPI_Win_fence(0, w.win);                                                                          \
        window_free(&w);                                                                                  \
    } while (0)

// Scattered elements on all three sides.
static void layouts(int kind) {
    enum { ROWS = 100 };
    Window w = window(kind, ROWS * 3 * sizeof(long), sizeof(long));
    const int unit = (int)sizeof(long) / w.unit;
    MPI_Datatype third, second;
    MPI_Type_vector(ROWS, 1, 3, MPI_LONG, &third);
    MPI_Type_vector(ROWS, 1, 2, MPI_LONG, &second);
    MPI_Type_commit(&third);
    MPI_Type_commit(&second);
    long mine[2 * ROWS], before[3 * ROWS], ones[ROWS];
    for (int i = 0; i < 2 * ROWS; i++) mine[i] = i % 2 ? -1000 : i / 2;
    for (int i = 0; i < ROWS; i++) ones[i] = 1;
    memset(before, 0x11, sizeof before);
    MPI_Win_lock_all(0, w.win);
    MPI_Get_accumulate(mine, 1, second, before, 1, third, 0, place(&w, 0, 1 * unit), 1, third, MPI_SUM, w.win);
    MPI_Win_flush(0, w.win);
    for (int i = 0; i < ROWS; i++) {
        CHECK(before[3 * i] >= 0 && (i == 0 || before[3 * i] % i == 0) && before[3 * i] <= (long)i * (size - 1));
        CHECK(i + 1 == ROWS || before[3 * i + 1] == 0x1111111111111111);
    }
    MPI_Accumulate(ones, ROWS, MPI_LONG, 0, place(&w, 0, 2 * unit), 1, third, MPI_SUM, w.win);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    const long *cells = (long *)w.base;
    if (rank == 0)
        for (int i = 0; i < ROWS; i++) {
            CHECK_EQ(cells[3 * i], 0);
            CHECK_EQ(cells[3 * i + 1], (long)i * size);
            CHECK_EQ(cells[3 * i + 2], size);
        }
    MPI_Win_unlock(rank, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&third);
    MPI_Type_free(&second);
    window_free(&w);
}

// Each rank draws numbers; together they draw each number once.
static void fetching(int kind, int draws) {
    Window w = window(kind, 4096 + (size_t)(size * draws), 1);
    long *next = (long *)w.base;
    const long one = 1;
    long drawn, last = -1;
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < draws; i++) {
        if (i % 2)
            MPI_Fetch_and_op(&one, &drawn, MPI_LONG, 0, place(&w, 0, 0), MPI_SUM, w.win);
        else
            MPI_Get_accumulate(&one, 1, MPI_LONG, &drawn, 1, MPI_LONG, 0, place(&w, 0, 0), 1, MPI_LONG, MPI_SUM, w.win);
        MPI_Win_flush(0, w.win);
        CHECK(drawn > last && drawn < (long)size * draws);
        last = drawn;
        const char mark = 1;
        MPI_Accumulate(&mark, 1, MPI_SIGNED_CHAR, 0, place(&w, 0, 4096 + drawn), 1, MPI_SIGNED_CHAR, MPI_SUM, w.win);
        long now = -1;
        MPI_Fetch_and_op(NULL, &now, MPI_LONG, 0, place(&w, 0, 0), MPI_NO_OP, w.win);
        MPI_Win_flush(0, w.win);
        CHECK(now > drawn);
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
        CHECK_EQ(*next, (long)size * draws);
        CHECK_BYTES(w.base + 4096, size * draws, 1);
        MPI_Win_unlock(0, w.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&w);
}

// The order of one origin's operations on one place is the order of its calls.
static void order(int kind) {
    Window w = window(kind, 8 * sizeof(int), sizeof(int));
    const int unit = (int)sizeof(int) / w.unit;
    const int target = (rank + 1) % size, values[] = {5, 3, 10};
    int old[4] = {-1, -1, -1, -1};
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win);
    MPI_Accumulate(&values[0], 1, MPI_INT, target, place(&w, target, 4 * unit), 1, MPI_INT, MPI_REPLACE, w.win);
    MPI_Fetch_and_op(&values[1], &old[0], MPI_INT, target, place(&w, target, 4 * unit), MPI_SUM, w.win);
    MPI_Fetch_and_op(&values[2], &old[1], MPI_INT, target, place(&w, target, 4 * unit), MPI_REPLACE, w.win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, &old[2], 1, MPI_INT, target, place(&w, target, 4 * unit), 1, MPI_INT,
                       MPI_NO_OP, w.win);
    MPI_Fetch_and_op(&values[1], &old[3], MPI_INT, target, place(&w, target, 4 * unit), MPI_MAX, w.win);
    MPI_Win_unlock(target, w.win);
    CHECK_EQ(old[0], 5);
    CHECK_EQ(old[1], 8);
    CHECK_EQ(old[2], 10);
    CHECK_EQ(old[3], 10);
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&w);
}

// A spin lock, of every type that can be compared and swapped.
#define SWAP(kind, ctype, mpitype)                                                                      \
    do {                                                                                                \
        Window w = window(kind, 128, 1);                                                                \
        const ctype free_ = (ctype)0, mine = (ctype)(rank + 1);                                         \
        MPI_Win_lock_all(0, w.win);                                                                     \
        for (int i = 0; i < 20; i++) {                                                                  \
            ctype was;                                                                                  \
            do {                                                                                        \
                MPI_Compare_and_swap(&mine, &free_, &was, mpitype, 0, place(&w, 0, 64), w.win);         \
                MPI_Win_flush(0, w.win);                                                                \
                const long long seen = (long long)was;                                                  \
                CHECK(seen >= 0 && seen <= size);                                                       \
            } while (was != free_);                                                                     \
            int value;                                                                                  \
            MPI_Get(&value, 1, MPI_INT, 0, place(&w, 0, 0), 1, MPI_INT, w.win);                         \
            MPI_Win_flush(0, w.win);                                                                    \
            value++;                                                                                    \
            MPI_Put(&value, 1, MPI_INT, 0, place(&w, 0, 0), 1, MPI_INT, w.win);                         \
            MPI_Win_flush(0, w.win);                                                                    \
            MPI_Compare_and_swap(&free_, &mine, &was, mpitype, 0, place(&w, 0, 64), w.win);             \
            MPI_Win_flush(0, w.win);                                                                    \
            CHECK_EQ(was, mine);                                                                        \
        }                                                                                               \
        MPI_Win_unlock_all(w.win);                                                                      \
        MPI_Barrier(MPI_COMM_WORLD);                                                                    \
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);                                                  \
        if (rank == 0) CHECK_EQ(*(int *)w.base, 20 * size);                                             \
        MPI_Win_unlock(rank, w.win);                                                                    \
        MPI_Barrier(MPI_COMM_WORLD);                                                                    \
        window_free(&w);                                                                                \
    } while (0)

// Long runs, which go block by block, from all ranks at once.
static void long_runs(int kind) {
    enum { N = 50000 };
    Window w = window(kind, (N + 1) * sizeof(double), 1);
    double *mine = get_memory(N * sizeof *mine), *old = get_memory(N * sizeof *old);
    for (int i = 0; i < N; i++) mine[i] = i;
    MPI_Win_lock_all(0, w.win);
    for (int again = 0; again < 2; again++)
        MPI_Accumulate(mine, N, MPI_DOUBLE, 0, place(&w, 0, sizeof(double)), N, MPI_DOUBLE, MPI_SUM, w.win);
    MPI_Get_accumulate(mine, N, MPI_DOUBLE, old, N, MPI_DOUBLE, 0, place(&w, 0, sizeof(double)), N, MPI_DOUBLE, MPI_SUM,
                       w.win);
    MPI_Win_unlock_all(w.win);
    for (int i = 1; i < N; i++) CHECK(old[i] >= 2.0 * i && old[i] <= (3.0 * size - 1) * i);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    if (rank == 0)
        for (int i = 0; i < N; i++) CHECK(((double *)w.base)[i + 1] == 3.0 * size * i);
    MPI_Win_unlock(rank, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    free(mine);
    free(old);
    window_free(&w);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        all_types(kind);
        PAIRS(kind, double, MPI_DOUBLE_INT);
        PAIRS(kind, short, MPI_SHORT_INT);
        PAIRS(kind, int, MPI_2INT);
        layouts(kind);
        fetching(kind, 300);
        order(kind);
        long_runs(kind);
        SWAP(kind, signed char, MPI_SIGNED_CHAR);
        SWAP(kind, short, MPI_SHORT);
        SWAP(kind, int, MPI_INT);
        SWAP(kind, int64_t, MPI_INT64_T);
        SWAP(kind, MPI_Aint, MPI_AINT);
        SWAP(kind, unsigned char, MPI_BYTE);
    }
    MPI_Finalize();
    return 0;
}
