// ranks: 1 2
// Every predefined operation on every predefined type: the value where the standard allows the two together, expected
// values in plain C, and MPI_ERR_OP where it does not.
#include "../check.h"
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

enum { MOST = 131 };

static const int counts[] = {0, 1, 2, 3, 8, 17, 64, MOST};

static unsigned long long state = 1;

#define APART __attribute__((noinline))  // there are hundreds of places that call these

APART static unsigned long long next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 17;
}

APART static unsigned long long any(void) { return next() % 3 ? next() << 20 ^ next() : 0; }

// A small multiple of a power of two: exact in every format.
APART static double small(void) { return (double)(next() % 33) / 8 - 2; }

// The operation on the first elements of x and y must give those of `want`, and leave the others alone.
APART static void judge(const void *x, const void *y, const void *want, size_t each, MPI_Datatype type, MPI_Op op,
                  const char *type_name, const char *op_name) {
    static _Alignas(64) char z[(MOST + 1) * 2 * sizeof(long double)];
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t part = (size_t)counts[c] * each, all = (MOST + 1) * each;
        memcpy(z, y, all);
        OK(MPI_Reduce_local(x, z, counts[c], type, op));
        for (size_t i = 0; i < all; i++)
            if (z[i] != ((const char *)(i < part ? want : y))[i])
                CHECK_FAIL("%s of %s is wrong at %zu of %d", op_name, type_name, i / each, counts[c]);
    }
}

// The operation on arrays with the values of `make`, against `expected` of the elements a and b. The arrays begin as
// zeros, so that bytes which belong to no value are equal.
#define RUN(T, datatype, operation, make, expected)                                                          \
    do {                                                                                                     \
        static T x[MOST + 1], y[MOST + 1], want[MOST + 1];                                                   \
        for (int i = 0; i <= MOST; i++) {                                                                    \
            T a = x[i] = (T)(make), b = y[i] = (T)(make);                                                    \
            (void)a, (void)b, want[i] = (T)(expected);                                                       \
        }                                                                                                    \
        judge(x, y, want, sizeof *x, datatype, operation, #datatype, #operation);                            \
    } while (0)

#define COMPARED(T, datatype, make)                                 \
    RUN(T, datatype, MPI_MAX, make, a > b ? a : b);          \
    RUN(T, datatype, MPI_MIN, make, a < b ? a : b)

// Sums and products of integers wrap: U is the unsigned type to compute them in.
#define COMPUTED(T, U, datatype, make)                              \
    RUN(T, datatype, MPI_SUM, make, (U)a + (U)b);            \
    RUN(T, datatype, MPI_PROD, make, (U)a * (U)b)

#define BITWISE(T, datatype, make)                                  \
    RUN(T, datatype, MPI_BAND, make, a & b);                 \
    RUN(T, datatype, MPI_BOR, make, a | b);                  \
    RUN(T, datatype, MPI_BXOR, make, a ^ b)

#define TRUTH(T, datatype, make)                                    \
    RUN(T, datatype, MPI_LAND, make, a && b);                \
    RUN(T, datatype, MPI_LOR, make, a || b);                 \
    RUN(T, datatype, MPI_LXOR, make, !a != !b)

#define INTEGER(T, datatype)                                        \
    COMPARED(T, datatype, any());                                     \
    COMPUTED(T, unsigned long long, datatype, any());                 \
    BITWISE(T, datatype, any())

#define C_INTEGER(T, datatype)                                      \
    INTEGER(T, datatype);                                           \
    TRUTH(T, datatype, any())

#define REAL(T, datatype)                                           \
    COMPARED(T, datatype, small());                                   \
    COMPUTED(T, T, datatype, small())

#define COMPLEX(R, T, datatype)                                     \
    RUN(T, datatype, MPI_SUM, small() + small() * I, a + b);            \
    RUN(T, datatype, MPI_PROD, small() + small() * I,                   \
        JOIN(R, T, RE(R, a) * RE(R, b) - IM(R, a) * IM(R, b), RE(R, a) * IM(R, b) + IM(R, a) * RE(R, b)))

// Part by part, so that the sign of a zero stays what it is.
#define RE(R, z) (((R *)&(z))[0])
#define IM(R, z) (((R *)&(z))[1])
#define JOIN(R, T, re, im) (*(T *)(R[2]){(re), (im)})

static void integers(void) {
    C_INTEGER(short, MPI_SHORT);
    C_INTEGER(int, MPI_INT);
    C_INTEGER(long, MPI_LONG);
    C_INTEGER(long long, MPI_LONG_LONG);
    C_INTEGER(long long, MPI_LONG_LONG_INT);
    C_INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    C_INTEGER(unsigned, MPI_UNSIGNED);
    C_INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    C_INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    C_INTEGER(signed char, MPI_SIGNED_CHAR);
    // Not in the standard's table, but all others reduce it.
    C_INTEGER(char, MPI_CHAR);
    C_INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    C_INTEGER(int8_t, MPI_INT8_T);
    C_INTEGER(int16_t, MPI_INT16_T);
    C_INTEGER(int32_t, MPI_INT32_T);
    C_INTEGER(int64_t, MPI_INT64_T);
    C_INTEGER(uint8_t, MPI_UINT8_T);
    C_INTEGER(uint16_t, MPI_UINT16_T);
    C_INTEGER(uint32_t, MPI_UINT32_T);
    C_INTEGER(uint64_t, MPI_UINT64_T);
    C_INTEGER(MPI_Aint, MPI_AINT);
    C_INTEGER(MPI_Offset, MPI_OFFSET);
    C_INTEGER(MPI_Count, MPI_COUNT);
    INTEGER(MPI_Fint, MPI_INTEGER);
    INTEGER(int8_t, MPI_INTEGER1);
    INTEGER(int16_t, MPI_INTEGER2);
    INTEGER(int32_t, MPI_INTEGER4);
    INTEGER(int64_t, MPI_INTEGER8);
    BITWISE(unsigned char, MPI_BYTE, any());
#ifdef __SIZEOF_INT128__
#define ANY_WIDE ((unsigned __int128)any() << 70 ^ any())
    COMPARED(__int128, MPI_INTEGER16, ANY_WIDE);
    COMPUTED(__int128, unsigned __int128, MPI_INTEGER16, ANY_WIDE);
    BITWISE(__int128, MPI_INTEGER16, ANY_WIDE);
#endif
    TRUTH(bool, MPI_C_BOOL, next() % 2);
    TRUTH(bool, MPI_CXX_BOOL, next() % 2);
    TRUTH(MPI_Fint, MPI_LOGICAL, next() % 2);
    TRUTH(int8_t, MPI_LOGICAL1, next() % 2);
    TRUTH(int16_t, MPI_LOGICAL2, next() % 2);
    TRUTH(int32_t, MPI_LOGICAL4, next() % 2);
    TRUTH(int64_t, MPI_LOGICAL8, next() % 2);
}

static void reals(void) {
    REAL(float, MPI_FLOAT);
    REAL(double, MPI_DOUBLE);
    REAL(long double, MPI_LONG_DOUBLE);
    REAL(float, MPI_REAL);
    REAL(double, MPI_DOUBLE_PRECISION);
    REAL(float, MPI_REAL4);
    REAL(double, MPI_REAL8);
#ifdef __SIZEOF_FLOAT128__
    REAL(__float128, MPI_REAL16);
#endif
#ifdef __FLT16_MANT_DIG__
    REAL(_Float16, MPI_REAL2);
#endif
    COMPLEX(float, float complex, MPI_C_COMPLEX);
    COMPLEX(float, float complex, MPI_C_FLOAT_COMPLEX);
    COMPLEX(double, double complex, MPI_C_DOUBLE_COMPLEX);
    COMPLEX(long double, long double complex, MPI_C_LONG_DOUBLE_COMPLEX);
    COMPLEX(float, float complex, MPI_CXX_FLOAT_COMPLEX);
    COMPLEX(double, double complex, MPI_CXX_DOUBLE_COMPLEX);
    COMPLEX(long double, long double complex, MPI_CXX_LONG_DOUBLE_COMPLEX);
    COMPLEX(float, float complex, MPI_COMPLEX);
    COMPLEX(double, double complex, MPI_DOUBLE_COMPLEX);
    COMPLEX(float, float complex, MPI_COMPLEX8);
    COMPLEX(double, double complex, MPI_COMPLEX16);
}

#define PAIR(V, L, datatype)                                                                     \
    do {                                                                                         \
        struct pair {                                                                            \
            V value;                                                                             \
            L place;                                                                             \
        };                                                                                       \
        static struct pair x[MOST + 1], y[MOST + 1], least[MOST + 1], most[MOST + 1];            \
        MPI_Aint lb, extent;                                                                     \
        OK(MPI_Type_get_extent(datatype, &lb, &extent));                                         \
        CHECK_EQ(extent, sizeof(struct pair));                                                   \
        for (int i = 0; i <= MOST; i++) {                                                        \
            V a = x[i].value = (V)(next() % 5), b = y[i].value = (V)(next() % 5);                \
            L at = x[i].place = (L)(next() % 4), bt = y[i].place = (L)(next() % 4);              \
            least[i].value = a < b ? a : b, least[i].place = a < b || (a == b && at < bt) ? at : bt; \
            most[i].value = a > b ? a : b, most[i].place = a > b || (a == b && at < bt) ? at : bt; \
        }                                                                                        \
        judge(x, y, least, sizeof *x, datatype, MPI_MINLOC, #datatype, "MPI_MINLOC");            \
        judge(x, y, most, sizeof *x, datatype, MPI_MAXLOC, #datatype, "MPI_MAXLOC");             \
    } while (0)

static void pairs(void) {
    PAIR(float, int, MPI_FLOAT_INT);
    PAIR(double, int, MPI_DOUBLE_INT);
    PAIR(long, int, MPI_LONG_INT);
    PAIR(int, int, MPI_2INT);
    PAIR(short, int, MPI_SHORT_INT);
    PAIR(long double, int, MPI_LONG_DOUBLE_INT);
    PAIR(float, float, MPI_2REAL);
    PAIR(double, double, MPI_2DOUBLE_PRECISION);
    PAIR(int, int, MPI_2INTEGER);
}

// Of types without a name.
static void unnamed(void) {
    MPI_Datatype type;
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT64_T, &type));
    PAIR(double, int64_t, type);
    OK(MPI_Type_get_value_index(MPI_UINT8_T, MPI_UINT64_T, &type));
    PAIR(uint8_t, uint64_t, type);
    OK(MPI_Type_get_value_index(MPI_INT64_T, MPI_INT16_T, &type));
    PAIR(int64_t, int16_t, type);
    OK(MPI_Type_create_f90_real(6, 30, &type));
    REAL(float, type);
    OK(MPI_Type_create_f90_real(15, 300, &type));
    REAL(double, type);
    OK(MPI_Type_create_f90_integer(9, &type));
    INTEGER(int32_t, type);
    OK(MPI_Type_create_f90_complex(15, 300, &type));
    COMPLEX(double, double complex, type);
}

// i: C integer, f: Fortran integer, r: real, l: logical, c: complex, b: byte, m: multi-language, p: pair, x: nothing.
static const struct {
    MPI_Datatype type;
    char group;
} types[] = {
    {MPI_INT, 'i'}, {MPI_LONG, 'i'}, {MPI_SHORT, 'i'}, {MPI_UNSIGNED_SHORT, 'i'}, {MPI_UNSIGNED, 'i'},
    {MPI_UNSIGNED_LONG, 'i'}, {MPI_LONG_LONG, 'i'}, {MPI_UNSIGNED_LONG_LONG, 'i'}, {MPI_SIGNED_CHAR, 'i'},
    {MPI_UNSIGNED_CHAR, 'i'}, {MPI_INT8_T, 'i'}, {MPI_INT16_T, 'i'}, {MPI_INT32_T, 'i'}, {MPI_INT64_T, 'i'},
    {MPI_UINT8_T, 'i'}, {MPI_UINT16_T, 'i'}, {MPI_UINT32_T, 'i'}, {MPI_UINT64_T, 'i'}, {MPI_INTEGER, 'f'},
    {MPI_INTEGER1, 'f'}, {MPI_INTEGER2, 'f'}, {MPI_INTEGER4, 'f'}, {MPI_INTEGER8, 'f'}, {MPI_INTEGER16, 'f'},
    {MPI_FLOAT, 'r'}, {MPI_DOUBLE, 'r'}, {MPI_REAL, 'r'}, {MPI_DOUBLE_PRECISION, 'r'}, {MPI_LONG_DOUBLE, 'r'},
    {MPI_REAL2, 'r'}, {MPI_REAL4, 'r'}, {MPI_REAL8, 'r'}, {MPI_REAL16, 'r'}, {MPI_LOGICAL, 'l'}, {MPI_C_BOOL, 'l'},
    {MPI_CXX_BOOL, 'l'}, {MPI_LOGICAL1, 'l'}, {MPI_LOGICAL2, 'l'}, {MPI_LOGICAL4, 'l'}, {MPI_LOGICAL8, 'l'},
    {MPI_LOGICAL16, 'l'}, {MPI_COMPLEX, 'c'}, {MPI_C_FLOAT_COMPLEX, 'c'}, {MPI_C_DOUBLE_COMPLEX, 'c'},
    {MPI_C_LONG_DOUBLE_COMPLEX, 'c'}, {MPI_CXX_FLOAT_COMPLEX, 'c'}, {MPI_CXX_DOUBLE_COMPLEX, 'c'},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, 'c'}, {MPI_DOUBLE_COMPLEX, 'c'}, {MPI_COMPLEX4, 'c'}, {MPI_COMPLEX8, 'c'},
    {MPI_COMPLEX16, 'c'}, {MPI_COMPLEX32, 'c'}, {MPI_BYTE, 'b'}, {MPI_AINT, 'm'}, {MPI_OFFSET, 'm'}, {MPI_COUNT, 'm'},
    {MPI_FLOAT_INT, 'p'}, {MPI_DOUBLE_INT, 'p'}, {MPI_LONG_INT, 'p'}, {MPI_2INT, 'p'}, {MPI_SHORT_INT, 'p'},
    {MPI_LONG_DOUBLE_INT, 'p'}, {MPI_2REAL, 'p'}, {MPI_2DOUBLE_PRECISION, 'p'}, {MPI_2INTEGER, 'p'}, {MPI_CHAR, 'i'},
    {MPI_CHARACTER, 'x'}, {MPI_WCHAR, 'x'}, {MPI_PACKED, 'x'},
};

static const struct {
    MPI_Op op;
    const char *groups, *name;
} operations[] = {
    {MPI_MAX, "ifrm", "MPI_MAX"},   {MPI_MIN, "ifrm", "MPI_MIN"},   {MPI_SUM, "ifrcm", "MPI_SUM"},
    {MPI_PROD, "ifrcm", "MPI_PROD"}, {MPI_LAND, "ilm", "MPI_LAND"},  {MPI_LOR, "ilm", "MPI_LOR"},
    {MPI_LXOR, "ilm", "MPI_LXOR"},   {MPI_BAND, "ifbm", "MPI_BAND"}, {MPI_BOR, "ifbm", "MPI_BOR"},
    {MPI_BXOR, "ifbm", "MPI_BXOR"}, {MPI_MINLOC, "p", "MPI_MINLOC"}, {MPI_MAXLOC, "p", "MPI_MAXLOC"},
    {MPI_REPLACE, "", "MPI_REPLACE"}, {MPI_NO_OP, "", "MPI_NO_OP"},
};

static void table(void) {
    static long double in[8], inout[8];
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            char name[MPI_MAX_OBJECT_NAME];
            int length, code = MPI_Reduce_local(in, inout, 2, types[t].type, operations[o].op);
            OK(MPI_Type_get_name(types[t].type, name, &length));
            if (strchr(operations[o].groups, types[t].group)) {
                if (code != MPI_SUCCESS) CHECK_FAIL("%s of %s: %s", operations[o].name, name, check_text(code));
            } else if (check_class(code) != MPI_ERR_OP) {
                CHECK_FAIL("%s of %s gave class %d", operations[o].name, name, check_class(code));
            } else {
                CHECK_TEXT(code, operations[o].name);
            }
        }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    state += (unsigned long long)rank;
    integers();
    reals();
    pairs();
    unnamed();
    table();
    return finish();
}
