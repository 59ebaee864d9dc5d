// ranks: 2 3 8
// timeout: 90
// A rank that reads an element with an accumulate sees one whole value, never halves of two: pairs
// and complex numbers, also those of eight bytes, that others replace, add to and compare all the
// time, on windows of every kind.
#include "windows.h"

enum { CELLS = 5, ROUNDS = 3000 };

typedef struct {
    short value;
    int index;
} ShortInt;
typedef struct {
    int value, index;
} IntInt;
typedef struct {
    float value;
    int index;
} FloatInt;
typedef struct {
    double value;
    int index;
} DoubleInt;
typedef struct {
    long value;
    int index;
} LongInt;
typedef struct {
    float value, index;
} FloatComplex;
typedef struct {
    double value, index;
} DoubleComplex;

// Rank 0 only owns the memory, the last rank reads, and in larger worlds others do both.
#define TRY(kind, ctype, mpitype, op)                                                                                \
    do {                                                                                                             \
        Window w = window(kind, CELLS * sizeof(ctype), (int)sizeof(ctype));                                          \
        const int unit = (int)sizeof(ctype) / w.unit;                                                                \
        const int reads = rank == size - 1 || rank % 3 == 2, writes = !reads;                                        \
        OK(MPI_Win_lock_all(0, w.win));                                                                              \
        for (int i = 0; i < ROUNDS; i++) {                                                                           \
            ctype cells[CELLS] = {{0}};                                                                              \
            const int first = i % 2 ? 0 : i % CELLS, count = i % 2 ? CELLS : 1;                                      \
            const MPI_Aint at = place(&w, 0, first * unit);                                                          \
            if (writes) {                                                                                            \
                for (int j = 0; j < count; j++) cells[j].value = (i * 7 + rank) % 30000, cells[j].index = cells[j].value; \
                OK(MPI_Accumulate(cells, count, mpitype, 0, at, count, mpitype, op, w.win));                         \
            } else if (count == 1) {                                                                                 \
                OK(MPI_Fetch_and_op(NULL, cells, mpitype, 0, at, MPI_NO_OP, w.win));                                 \
            } else {                                                                                                 \
                OK(MPI_Get_accumulate(NULL, 0, mpitype, cells, count, mpitype, 0, at, count, mpitype, MPI_NO_OP, w.win)); \
            }                                                                                                        \
            for (int j = 0; j < count; j++)                                                                          \
                if (cells[j].value != cells[j].index)                                                                \
                    CHECK_FAIL("%s of %s on a %s window: cell %d is torn: %g and %g", #op, #mpitype, kind_names[kind], \
                               first + j, (double)cells[j].value, (double)cells[j].index);                           \
        }                                                                                                            \
        OK(MPI_Win_unlock_all(w.win));                                                                               \
        MPI_Barrier(MPI_COMM_WORLD);                                                                                 \
        window_free(&w);                                                                                             \
    } while (0)

#define PAIRS(kind, ctype, mpitype)             \
    do {                                        \
        TRY(kind, ctype, mpitype, MPI_REPLACE); \
        TRY(kind, ctype, mpitype, MPI_MAXLOC);  \
    } while (0)

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int kind = 0; kind < KINDS; kind++) {
        PAIRS(kind, ShortInt, MPI_SHORT_INT);
        PAIRS(kind, IntInt, MPI_2INT);
        PAIRS(kind, FloatInt, MPI_FLOAT_INT);
        PAIRS(kind, DoubleInt, MPI_DOUBLE_INT);
        PAIRS(kind, LongInt, MPI_LONG_INT);
        TRY(kind, FloatComplex, MPI_C_FLOAT_COMPLEX, MPI_REPLACE);
        TRY(kind, FloatComplex, MPI_C_FLOAT_COMPLEX, MPI_SUM);
        TRY(kind, DoubleComplex, MPI_C_DOUBLE_COMPLEX, MPI_SUM);
    }
    MPI_Finalize();
    return 0;
}
