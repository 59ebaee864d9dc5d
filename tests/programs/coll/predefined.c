// ranks: 1 3 4 8
// cflags: -lm
// Every predefined operation on every predefined type: the results where the pair is allowed, computed here in plain C;
// MPI_ERR_OP where it is not. Beyond the standard, MPI_CHAR is an integer, and MPI_AINT, MPI_OFFSET and MPI_COUNT have logical
// operations. All values are such that results are exact in any order.
#include <complex.h>
#include <stdbool.h>

#include "coll.h"

enum { MAX, MIN, SUM, PROD, LAND, BAND, LOR, BOR, LXOR, BXOR, MAXLOC, MINLOC, OPS };
static const char *const op_names[OPS] = {"MPI_MAX", "MPI_MIN", "MPI_SUM",  "MPI_PROD", "MPI_LAND",   "MPI_BAND",
                                          "MPI_LOR", "MPI_BOR", "MPI_LXOR", "MPI_BXOR", "MPI_MAXLOC", "MPI_MINLOC"};
enum { C_INTEGER = 1, FORTRAN_INTEGER = 2, FLOATING = 4, LOGICAL = 8, COMPLEX = 16, BYTE = 32, MULTI = 64, PAIR = 128, OTHER = 256 };
static const int allowed[OPS] = {
    [MAX] = C_INTEGER | FORTRAN_INTEGER | FLOATING | MULTI,
    [MIN] = C_INTEGER | FORTRAN_INTEGER | FLOATING | MULTI,
    [SUM] = C_INTEGER | FORTRAN_INTEGER | FLOATING | COMPLEX | MULTI,
    [PROD] = C_INTEGER | FORTRAN_INTEGER | FLOATING | COMPLEX | MULTI,
    [LAND] = C_INTEGER | LOGICAL | MULTI,
    [LOR] = C_INTEGER | LOGICAL | MULTI,
    [LXOR] = C_INTEGER | LOGICAL | MULTI,
    [BAND] = C_INTEGER | FORTRAN_INTEGER | BYTE | MULTI,
    [BOR] = C_INTEGER | FORTRAN_INTEGER | BYTE | MULTI,
    [BXOR] = C_INTEGER | FORTRAN_INTEGER | BYTE | MULTI,
    [MAXLOC] = PAIR,
    [MINLOC] = PAIR,
};

// What to do with one C type: a value of process `who` for place i, b = a op b, and whether two are equal.
struct methods {
    size_t size;
    void (*make)(void *to, int op, int who, int i);
    void (*apply)(int op, const void *a, void *b);
    bool (*equal)(const void *a, const void *b);
};

#define METHODS(NAME, T)                                                                      \
    static bool equal_##NAME(const void *a, const void *b) { return *(const T *)a == *(const T *)b; } \
    static const struct methods NAME = {sizeof(T), make_##NAME, apply_##NAME, equal_##NAME};

// Small numbers, negative ones where there are any; few of them are 0; products stay below 2^6.
static int small(int op, int who, int i) {
    switch (op) {
        case MAX: case MIN: return (who * 5 + i * 7) % 11 - 5;
        case SUM: return (who * 3 + i) % 5 - 1;
        case PROD: return (who + i) % 3 ? (who + i) % 5 == 1 ? -1 : 1 : 2;
        default: return (who + i) % 4 == 3 || i % 3 == 0 ? (i + who) % 2 : who + i % 7 + 1;
    }
}

#define COMPARE_AND_ADD                     \
    case MAX: *y = x > *y ? x : *y; break;  \
    case MIN: *y = x < *y ? x : *y; break;  \
    case SUM: *y = x + *y; break;           \
    case PROD: *y = x * *y; break;

#define INTEGER(NAME, T)                                                       \
    static void make_##NAME(void *to, int op, int who, int i) {                \
        int v = small(op, who, i);                                             \
        *(T *)to = (T)(op == SUM && (T)-1 > 0 ? abs(v) : v);                   \
        if (op == BAND || op == BOR || op == BXOR)                             \
            *(T *)to = (T)((op == BAND ? ~(T)0 : 0) ^ (T)((T)1 << (who * 3 + i) % (int)(sizeof(T) * 8))); \
    }                                                                          \
    static void apply_##NAME(int op, const void *a, void *b) {                 \
        T x = *(const T *)a, *y = b;                                           \
        switch (op) {                                                          \
            COMPARE_AND_ADD                                                    \
            case LAND: *y = x && *y; break;                                    \
            case LOR: *y = x || *y; break;                                     \
            case LXOR: *y = !x != !*y; break;                                  \
            case BAND: *y = x & *y; break;                                     \
            case BOR: *y = x | *y; break;                                      \
            case BXOR: *y = x ^ *y; break;                                     \
        }                                                                      \
    }                                                                          \
    METHODS(NAME, T)

#define REAL(NAME, T)                                                                        \
    static void make_##NAME(void *to, int op, int who, int i) { *(T *)to = (T)small(op, who, i) / 4; } \
    static void apply_##NAME(int op, const void *a, void *b) {                               \
        T x = *(const T *)a, *y = b;                                                         \
        switch (op) { COMPARE_AND_ADD }                                                      \
    }                                                                                        \
    METHODS(NAME, T)

// Complex numbers as two of their parts, because halves have no complex type in C.
#define COMPLEX_NUMBER(NAME, T)                                              \
    struct parts_##NAME {                                                    \
        T re, im;                                                            \
    };                                                                       \
    static void make_##NAME(void *to, int op, int who, int i) {              \
        struct parts_##NAME *z = to;                                         \
        z->re = (T)small(op, who, i), z->im = (T)(op == PROD ? (who + i) % 3 == 1 : small(op, who, i + 1)); \
    }                                                                        \
    static void apply_##NAME(int op, const void *a, void *b) {               \
        struct parts_##NAME x = *(const struct parts_##NAME *)a, *y = b;     \
        T re = op == SUM ? x.re + y->re : x.re * y->re - x.im * y->im;       \
        y->im = op == SUM ? x.im + y->im : x.re * y->im + x.im * y->re;      \
        y->re = re;                                                          \
    }                                                                        \
    static bool equal_##NAME(const void *a, const void *b) {                 \
        const struct parts_##NAME *x = a, *y = b;                            \
        return x->re == y->re && x->im == y->im;                             \
    }                                                                        \
    static const struct methods NAME = {2 * sizeof(T), make_##NAME, apply_##NAME, equal_##NAME};

// A Fortran LOGICAL: zero is false, and which bits a true result has is the library's choice.
#define LOGICAL_NUMBER(NAME, T)                                                                               \
    static void make_##NAME(void *to, int op, int who, int i) { *(T *)to = (T)(small(op, who, i) != 0); }     \
    static void apply_##NAME(int op, const void *a, void *b) {                                                \
        T x = *(const T *)a, *y = b;                                                                          \
        *y = (T)(op == LAND ? x && *y : op == LOR ? x || *y : !x != !*y);                                     \
    }                                                                                                         \
    static bool equal_##NAME(const void *a, const void *b) { return !*(const T *)a == !*(const T *)b; }       \
    static const struct methods NAME = {sizeof(T), make_##NAME, apply_##NAME, equal_##NAME};

// Few different values, so that the index decides often; the indices are not in the order of ranks.
#define PAIR_OF(NAME, T, I)                                                            \
    struct pair_##NAME {                                                               \
        T value;                                                                       \
        I index;                                                                       \
    };                                                                                 \
    static void make_##NAME(void *to, int op, int who, int i) {                        \
        struct pair_##NAME *p = to;                                                    \
        p->value = (T)((who + op) * (i + 1) % 3 + 1), p->index = (I)((who * 5 + i) % 23); \
    }                                                                                  \
    static void apply_##NAME(int op, const void *a, void *b) {                         \
        const struct pair_##NAME *x = a;                                               \
        struct pair_##NAME *y = b;                                                     \
        bool better = op == MAXLOC ? x->value > y->value : x->value < y->value;        \
        if (better || (x->value == y->value && x->index < y->index)) *y = *x;          \
    }                                                                                  \
    static bool equal_##NAME(const void *a, const void *b) {                           \
        const struct pair_##NAME *x = a, *y = b;                                       \
        return x->value == y->value && x->index == y->index;                           \
    }                                                                                  \
    static const struct methods NAME = {sizeof(struct pair_##NAME), make_##NAME, apply_##NAME, equal_##NAME};

INTEGER(i8, int8_t)
INTEGER(i16, int16_t)
INTEGER(i32, int32_t)
INTEGER(i64, int64_t)
INTEGER(i128, __int128)
INTEGER(u8, uint8_t)
INTEGER(u16, uint16_t)
INTEGER(u32, uint32_t)
INTEGER(u64, uint64_t)
REAL(f16, _Float16)
REAL(f32, float)
REAL(f64, double)
REAL(f80, long double)
REAL(f128, __float128)
COMPLEX_NUMBER(c16, _Float16)
COMPLEX_NUMBER(c32, float)
COMPLEX_NUMBER(c64, double)
COMPLEX_NUMBER(c80, long double)
COMPLEX_NUMBER(c128, __float128)
LOGICAL_NUMBER(l8, uint8_t)
LOGICAL_NUMBER(l16, uint16_t)
LOGICAL_NUMBER(l32, uint32_t)
LOGICAL_NUMBER(l64, uint64_t)
LOGICAL_NUMBER(l128, __int128)
LOGICAL_NUMBER(boolean, bool)
PAIR_OF(float_int, float, int)
PAIR_OF(double_int, double, int)
PAIR_OF(long_int, long, int)
PAIR_OF(int_int, int, int)
PAIR_OF(short_int, short, int)
PAIR_OF(ld_int, long double, int)
PAIR_OF(float_float, float, float)
PAIR_OF(double_double, double, double)
PAIR_OF(double_u64, double, uint64_t)
PAIR_OF(i8_i64, int8_t, int64_t)
PAIR_OF(u64_u8, uint64_t, uint8_t)

static struct entry {
    const char *name;
    MPI_Datatype type;
    int group;
    const struct methods *as;
} entries[128];
static int count_of_entries;

static void add(const char *name, MPI_Datatype type, int group, const struct methods *as) {
    int n = -1;
    // Fortran types of sizes that the library does not have.
    if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &n) != MPI_SUCCESS || n <= 0) return;
    struct entry e = {name, type, group, as};
    entries[count_of_entries++] = e;
}
#define ADD(type, group, as) add(#type, type, group, &as)

static void list_types(void) {
    ADD(MPI_CHAR, C_INTEGER, i8);
    ADD(MPI_SIGNED_CHAR, C_INTEGER, i8);
    ADD(MPI_SHORT, C_INTEGER, i16);
    ADD(MPI_INT, C_INTEGER, i32);
    ADD(MPI_LONG, C_INTEGER, i64);
    ADD(MPI_LONG_LONG_INT, C_INTEGER, i64);
    ADD(MPI_LONG_LONG, C_INTEGER, i64);
    ADD(MPI_UNSIGNED_CHAR, C_INTEGER, u8);
    ADD(MPI_UNSIGNED_SHORT, C_INTEGER, u16);
    ADD(MPI_UNSIGNED, C_INTEGER, u32);
    ADD(MPI_UNSIGNED_LONG, C_INTEGER, u64);
    ADD(MPI_UNSIGNED_LONG_LONG, C_INTEGER, u64);
    ADD(MPI_INT8_T, C_INTEGER, i8);
    ADD(MPI_INT16_T, C_INTEGER, i16);
    ADD(MPI_INT32_T, C_INTEGER, i32);
    ADD(MPI_INT64_T, C_INTEGER, i64);
    ADD(MPI_UINT8_T, C_INTEGER, u8);
    ADD(MPI_UINT16_T, C_INTEGER, u16);
    ADD(MPI_UINT32_T, C_INTEGER, u32);
    ADD(MPI_UINT64_T, C_INTEGER, u64);
    ADD(MPI_INTEGER, FORTRAN_INTEGER, i32);
    ADD(MPI_INTEGER1, FORTRAN_INTEGER, i8);
    ADD(MPI_INTEGER2, FORTRAN_INTEGER, i16);
    ADD(MPI_INTEGER4, FORTRAN_INTEGER, i32);
    ADD(MPI_INTEGER8, FORTRAN_INTEGER, i64);
    ADD(MPI_FLOAT, FLOATING, f32);
    ADD(MPI_DOUBLE, FLOATING, f64);
    ADD(MPI_LONG_DOUBLE, FLOATING, f80);
    ADD(MPI_REAL, FLOATING, f32);
    ADD(MPI_DOUBLE_PRECISION, FLOATING, f64);
    ADD(MPI_REAL4, FLOATING, f32);
    ADD(MPI_REAL8, FLOATING, f64);
    ADD(MPI_LOGICAL, LOGICAL, l32);
    ADD(MPI_C_BOOL, LOGICAL, boolean);
    ADD(MPI_COMPLEX, COMPLEX, c32);
    ADD(MPI_C_COMPLEX, COMPLEX, c32);
    ADD(MPI_C_FLOAT_COMPLEX, COMPLEX, c32);
    ADD(MPI_C_DOUBLE_COMPLEX, COMPLEX, c64);
    ADD(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, c80);
    ADD(MPI_DOUBLE_COMPLEX, COMPLEX, c64);
    ADD(MPI_COMPLEX8, COMPLEX, c32);
    ADD(MPI_COMPLEX16, COMPLEX, c64);
    ADD(MPI_BYTE, BYTE, u8);
    ADD(MPI_AINT, MULTI, i64);
    ADD(MPI_OFFSET, MULTI, i64);
    ADD(MPI_COUNT, MULTI, i64);
#ifndef CHECK_NO_LARGE
    ADD(MPI_INTEGER16, FORTRAN_INTEGER, i128);
    ADD(MPI_REAL2, FLOATING, f16);
    ADD(MPI_REAL16, FLOATING, f128);
    ADD(MPI_LOGICAL1, LOGICAL, l8);
    ADD(MPI_LOGICAL2, LOGICAL, l16);
    ADD(MPI_LOGICAL4, LOGICAL, l32);
    ADD(MPI_LOGICAL8, LOGICAL, l64);
    ADD(MPI_LOGICAL16, LOGICAL, l128);
    ADD(MPI_COMPLEX4, COMPLEX, c16);
    ADD(MPI_COMPLEX32, COMPLEX, c128);
    ADD(MPI_CXX_BOOL, LOGICAL, boolean);
    ADD(MPI_CXX_FLOAT_COMPLEX, COMPLEX, c32);
    ADD(MPI_CXX_DOUBLE_COMPLEX, COMPLEX, c64);
    ADD(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, c80);
#endif
    ADD(MPI_FLOAT_INT, PAIR, float_int);
    ADD(MPI_DOUBLE_INT, PAIR, double_int);
    ADD(MPI_LONG_INT, PAIR, long_int);
    ADD(MPI_2INT, PAIR, int_int);
    ADD(MPI_SHORT_INT, PAIR, short_int);
    ADD(MPI_LONG_DOUBLE_INT, PAIR, ld_int);
    ADD(MPI_2REAL, PAIR, float_float);
    ADD(MPI_2DOUBLE_PRECISION, PAIR, double_double);
    ADD(MPI_2INTEGER, PAIR, int_int);
    ADD(MPI_WCHAR, OTHER, i32);
    ADD(MPI_CHARACTER, OTHER, i8);
    ADD(MPI_PACKED, OTHER, i8);
    MPI_Datatype t;
    OK(MPI_Type_create_f90_integer(9, &t));
    add("an INTEGER of 9 digits", t, FORTRAN_INTEGER, &i32);
    OK(MPI_Type_create_f90_integer(18, &t));
    add("an INTEGER of 18 digits", t, FORTRAN_INTEGER, &i64);
    OK(MPI_Type_create_f90_real(6, 30, &t));
    add("a REAL of 6 digits", t, FLOATING, &f32);
    OK(MPI_Type_create_f90_real(15, 300, &t));
    add("a REAL of 15 digits", t, FLOATING, &f64);
    OK(MPI_Type_create_f90_complex(15, 300, &t));
    add("a COMPLEX of 15 digits", t, COMPLEX, &c64);
#ifndef CHECK_NO_LARGE
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_UINT64_T, &t));
    add("double and uint64_t", t, PAIR, &double_u64);
    OK(MPI_Type_get_value_index(MPI_INT8_T, MPI_INT64_T, &t));
    add("int8_t and int64_t", t, PAIR, &i8_i64);
    OK(MPI_Type_get_value_index(MPI_UINT64_T, MPI_UINT8_T, &t));
    add("uint64_t and uint8_t", t, PAIR, &u64_u8);
#endif
}

enum { N = 37 };
static _Alignas(16) char mine[N * 32 + 64], result[N * 32 + 64], expected[N * 32 + 64];

static void put_values(char *to, const struct entry *e, int op, int who) {
    for (int i = 0; i < N; i++) e->as->make(to + (size_t)i * e->as->size, op, who, i);
}

static void expect(const struct entry *e, int op, int first, int last) {
    put_values(expected, e, op, last);
    for (int who = last - 1; who >= first; who--) {
        char left[N * 32];
        put_values(left, e, op, who);
        for (int i = 0; i < N; i++) e->as->apply(op, left + (size_t)i * e->as->size, expected + (size_t)i * e->as->size);
    }
}

static void check_values(const struct entry *e, const char *call) {
    for (int i = 0; i < N; i++)
        if (!e->as->equal(result + (size_t)i * e->as->size, expected + (size_t)i * e->as->size)) {
            WRONG("%s: element %d is wrong", call, i);
            return;
        }
}

static void values(const struct entry *e, int op, MPI_Op handle) {
    put_values(mine, e, op, rank);
    expect(e, op, 0, size - 1);
    memset(result, 0, sizeof result);
    OK(MPI_Allreduce(mine, result, N, e->type, handle, MPI_COMM_WORLD));
    check_values(e, "Allreduce");
    int root = (op + e->group) % size;
    memset(result, 0, sizeof result);
    OK(MPI_Reduce(mine, result, N, e->type, handle, root, MPI_COMM_WORLD));
    if (rank == root) check_values(e, "Reduce");
    expect(e, op, 0, rank);
    put_values(result, e, op, rank);
    OK(MPI_Scan(MPI_IN_PLACE, result, N, e->type, handle, MPI_COMM_WORLD));
    check_values(e, "Scan");
    expect(e, op, rank, rank + 1);
    put_values(result, e, op, rank + 1);
    OK(MPI_Reduce_local(mine, result, N, e->type, handle));
    check_values(e, "Reduce_local");
}

int main(int argc, char **argv) {
    MPI_Op handles[OPS] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                           MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    start(&argc, &argv);
    return_errors();
    list_types();
    for (int k = 0; k < count_of_entries; k++) {
        const struct entry *e = &entries[k];
        MPI_Aint lb, extent;
        OK(MPI_Type_get_extent(e->type, &lb, &extent));
        snprintf(what, sizeof what, "%s", e->name);
        if ((size_t)extent != e->as->size) {
            WRONG("extent %ld, not %zu", (long)extent, e->as->size);
            continue;
        }
        for (int op = 0; op < OPS; op++) {
            snprintf(what, sizeof what, "%s of %s", op_names[op], e->name);
            if (allowed[op] & e->group) {
                values(e, op, handles[op]);
                continue;
            }
            int code = MPI_Reduce_local(mine, result, 1, e->type, handles[op]);
            if (check_class(code) != MPI_ERR_OP) WRONG("MPI_Reduce_local gave class %d", check_class(code));
            code = MPI_Allreduce(mine, result, 1, e->type, handles[op], MPI_COMM_WORLD);
            if (check_class(code) != MPI_ERR_OP) WRONG("MPI_Allreduce gave class %d", check_class(code));
            if (code != MPI_SUCCESS) CHECK_TEXT(code, op_names[op]);
        }
    }
    return finish();
}
