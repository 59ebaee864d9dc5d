// ranks: 1
// Every predefined type: its name, its size and its extent; the types by precision, by size and by value and index.
#include "layout.h"
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

static void named(MPI_Datatype type, const char *name, int bytes, int extent) {
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1, ni = -1, na = -1, nd = -1, combiner = -1;
    int n = -1;
    MPI_Aint lb = -1, ex = -1;
    OK(MPI_Type_get_name(type, text, &length));
    if (strcmp(text, name)) CHECK_FAIL("the name of %s is %s", name, text);
    CHECK_EQ(length, (int)strlen(name));
    OK(MPI_Type_size(type, &n));
    if (n != bytes) CHECK_FAIL("the size of %s is %d, not %d", name, n, bytes);
    OK(MPI_Type_get_extent(type, &lb, &ex));
    CHECK_EQ(lb, 0);
    if (ex != extent) CHECK_FAIL("the extent of %s is %d, not %d", name, (int)ex, extent);
    OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_NAMED);
    CHECK_EQ(ni + na + nd, 0);
    OK(MPI_Type_commit(&type));
    MPI_Datatype copy = type;
    CHECK_CLASS(MPI_Type_free(&copy), MPI_ERR_TYPE);
    CHECK(copy == type);
}

#define C(type, ctype) named(type, #type, (int)sizeof(ctype), (int)sizeof(ctype))
#define F(type, bytes) named(type, #type, bytes, bytes)
#define PAIR(type, value, index)                                                    \
    do {                                                                            \
        struct { value v; index i; } pair_;                                         \
        named(type, #type, (int)(sizeof(value) + sizeof(index)), (int)sizeof pair_); \
    } while (0)

static void all(void) {
    C(MPI_CHAR, char);
    C(MPI_SIGNED_CHAR, signed char);
    C(MPI_UNSIGNED_CHAR, unsigned char);
    C(MPI_SHORT, short);
    C(MPI_UNSIGNED_SHORT, unsigned short);
    C(MPI_INT, int);
    C(MPI_UNSIGNED, unsigned);
    C(MPI_LONG, long);
    C(MPI_UNSIGNED_LONG, unsigned long);
    C(MPI_LONG_LONG_INT, long long);
    CHECK(MPI_LONG_LONG_INT == MPI_LONG_LONG);
    C(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    C(MPI_FLOAT, float);
    C(MPI_DOUBLE, double);
    C(MPI_LONG_DOUBLE, long double);
    C(MPI_WCHAR, wchar_t);
    C(MPI_C_BOOL, bool);
    C(MPI_INT8_T, int8_t);
    C(MPI_INT16_T, int16_t);
    C(MPI_INT32_T, int32_t);
    C(MPI_INT64_T, int64_t);
    C(MPI_UINT8_T, uint8_t);
    C(MPI_UINT16_T, uint16_t);
    C(MPI_UINT32_T, uint32_t);
    C(MPI_UINT64_T, uint64_t);
    C(MPI_AINT, MPI_Aint);
    C(MPI_COUNT, MPI_Count);
    C(MPI_OFFSET, MPI_Offset);
    C(MPI_C_COMPLEX, float complex);
    CHECK(MPI_C_COMPLEX == MPI_C_FLOAT_COMPLEX);
    C(MPI_C_DOUBLE_COMPLEX, double complex);
    C(MPI_C_LONG_DOUBLE_COMPLEX, long double complex);
    C(MPI_BYTE, char);
    C(MPI_PACKED, char);
    F(MPI_CXX_BOOL, 1);
    F(MPI_CXX_FLOAT_COMPLEX, 8);
    F(MPI_CXX_DOUBLE_COMPLEX, 16);
    F(MPI_CXX_LONG_DOUBLE_COMPLEX, 32);
    F(MPI_INTEGER, 4);
    F(MPI_REAL, 4);
    F(MPI_DOUBLE_PRECISION, 8);
    F(MPI_COMPLEX, 8);
    F(MPI_DOUBLE_COMPLEX, 16);
    F(MPI_LOGICAL, 4);
    F(MPI_CHARACTER, 1);
    F(MPI_INTEGER1, 1);
    F(MPI_INTEGER2, 2);
    F(MPI_INTEGER4, 4);
    F(MPI_INTEGER8, 8);
    F(MPI_INTEGER16, 16);
    F(MPI_REAL2, 2);
    F(MPI_REAL4, 4);
    F(MPI_REAL8, 8);
    F(MPI_REAL16, 16);
    F(MPI_COMPLEX4, 4);
    F(MPI_COMPLEX8, 8);
    F(MPI_COMPLEX16, 16);
    F(MPI_COMPLEX32, 32);
    F(MPI_LOGICAL1, 1);
    F(MPI_LOGICAL2, 2);
    F(MPI_LOGICAL4, 4);
    F(MPI_LOGICAL8, 8);
    F(MPI_LOGICAL16, 16);
    PAIR(MPI_FLOAT_INT, float, int);
    PAIR(MPI_DOUBLE_INT, double, int);
    PAIR(MPI_LONG_INT, long, int);
    PAIR(MPI_SHORT_INT, short, int);
    PAIR(MPI_2INT, int, int);
    PAIR(MPI_LONG_DOUBLE_INT, long double, int);
    PAIR(MPI_2REAL, float, float);
    PAIR(MPI_2DOUBLE_PRECISION, double, double);
    PAIR(MPI_2INTEGER, int, int);
}

static void by_size(void) {
    static const struct {
        int class, bytes;
        MPI_Datatype type;
    } table[] = {
        {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
        {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
        {MPI_TYPECLASS_REAL, 8, MPI_REAL8},         {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
        {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
        {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
    };
    MPI_Datatype found;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        OK(MPI_Type_match_size(table[i].class, table[i].bytes, &found));
        CHECK(found == table[i].type);
    }
    CHECK_ERROR(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &found), MPI_ERR_ARG, "3 bytes");
    CHECK_CLASS(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, -4, &found), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_match_size(12345, 4, &found), MPI_ERR_ARG, "12345");
    CHECK_CLASS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, NULL), MPI_ERR_ARG);
}

static void by_precision(void) {
    MPI_Datatype a, b, c;
    int n = -1, ni, na, nd, combiner, pr[2] = {0, 0};
    OK(MPI_Type_create_f90_real(6, 37, &a));
    OK(MPI_Type_create_f90_real(6, 37, &b));
    CHECK(a == b);
    OK(MPI_Type_size(a, &n));
    CHECK_EQ(n, 4);
    OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &b));
    OK(MPI_Type_size(b, &n));
    CHECK_EQ(n, 8);
    OK(MPI_Type_create_f90_real(MPI_UNDEFINED, 4000, &c));
    OK(MPI_Type_size(c, &n));
    CHECK_EQ(n, 16);
    OK(MPI_Type_get_envelope(b, &ni, &na, &nd, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_F90_REAL);
    CHECK_EQ(ni, 2);
    CHECK_EQ(na + nd, 0);
    OK(MPI_Type_get_contents(b, 2, 0, 0, pr, NULL, NULL));
    CHECK_EQ(pr[0], 15);
    CHECK_EQ(pr[1], MPI_UNDEFINED);
    CHECK_CLASS(MPI_Type_free(&b), MPI_ERR_TYPE);
    OK(MPI_Type_create_f90_complex(15, 307, &a));
    OK(MPI_Type_size(a, &n));
    CHECK_EQ(n, 16);
    OK(MPI_Type_get_envelope(a, &ni, &na, &nd, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_F90_COMPLEX);
    static const int digits[] = {2, 4, 9, 18, 38}, bytes[] = {1, 2, 4, 8, 16};
    for (int i = 0; i < 5; i++) {
        OK(MPI_Type_create_f90_integer(digits[i], &a));
        OK(MPI_Type_size(a, &n));
        CHECK_EQ(n, bytes[i]);
        OK(MPI_Type_get_envelope(a, &ni, &na, &nd, &combiner));
        CHECK_EQ(combiner, MPI_COMBINER_F90_INTEGER);
        OK(MPI_Type_get_contents(a, 1, 0, 0, pr, NULL, NULL));
        CHECK_EQ(pr[0], digits[i]);
    }
    // They need no commit.
    double out = 0, in = 2.5;
    OK(MPI_Type_create_f90_real(15, 307, &a));
    OK(MPI_Sendrecv(&in, 1, a, 0, 0, &out, 1, a, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(out == 2.5);
    CHECK_ERROR(MPI_Type_create_f90_real(34, MPI_UNDEFINED, &a), MPI_ERR_ARG, "34");
    CHECK_CLASS(MPI_Type_create_f90_real(MPI_UNDEFINED, 5000, &a), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &a), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_create_f90_complex(99, 1, &a), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_create_f90_integer(39, &a), MPI_ERR_ARG, "39");
    CHECK_CLASS(MPI_Type_create_f90_integer(9, NULL), MPI_ERR_ARG);
}

static void by_value_and_index(void) {
    MPI_Datatype pair, again, derived, types[2];
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
    CHECK(pair == MPI_2INT);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_UINT64_T, &pair));
    CHECK(pair != MPI_DATATYPE_NULL);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_UINT64_T, &again));
    CHECK(pair == again);
    CHECK_BOUNDS(pair, 16, 0, 16, 0, 16);
    int ni, na, nd, combiner;
    OK(MPI_Type_get_envelope(pair, &ni, &na, &nd, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_VALUE_INDEX);
    CHECK_EQ(nd, 2);
    OK(MPI_Type_get_contents(pair, 0, 0, 2, NULL, NULL, types));
    CHECK(types[0] == MPI_DOUBLE && types[1] == MPI_UINT64_T);
    CHECK_CLASS(MPI_Type_free(&pair), MPI_ERR_TYPE);
    OK(MPI_Type_get_value_index(MPI_SHORT, MPI_LONG, &pair));
    CHECK_BOUNDS(pair, 10, 0, 16, 0, 16);
    OK(MPI_Type_get_value_index(MPI_C_DOUBLE_COMPLEX, MPI_INT, &pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_FLOAT, &pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    OK(MPI_Type_contiguous(1, MPI_INT, &derived));
    OK(MPI_Type_get_value_index(derived, MPI_INT, &pair));
    CHECK(pair == MPI_DATATYPE_NULL);
    OK(MPI_Type_free(&derived));
    CHECK_CLASS(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &pair), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_value_index(MPI_INT, MPI_INT, NULL), MPI_ERR_ARG);
}

static void addresses(void) {
    int array[10] = {0};
    MPI_Aint a = 0, b = 0;
    OK(MPI_Get_address(array, &a));
    OK(MPI_Get_address(&array[7], &b));
    CHECK_EQ(MPI_Aint_diff(b, a), 7 * (int)sizeof(int));
    CHECK_EQ(MPI_Aint_add(a, 28), b);
    CHECK_EQ(a, (MPI_Aint)array);
    OK(MPI_Get_address(MPI_BOTTOM, &a));
    CHECK_EQ(a, 0);
    CHECK_CLASS(MPI_Get_address(array, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    all();
    by_size();
    by_precision();
    by_value_and_index();
    addresses();
    return finish();
}
