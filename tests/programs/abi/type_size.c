// ranks: 1
// The predefined datatypes' sizes by MPI_Type_size and its wide forms, against the compiler's.
#include "../check.h"
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

static void expect(MPI_Datatype type, const char *name, int bytes) {
    int n = -1;
    MPI_Count c = -1, x = -1;
    OK(MPI_Type_size(type, &n));
    if (n != bytes) CHECK_FAIL("%s has %d bytes, not %d", name, n, bytes);
    OK(MPI_Type_size_c(type, &c));
    CHECK_EQ(c, bytes);
    OK(MPI_Type_size_x(type, &x));
    CHECK_EQ(x, bytes);
}

#define C(type, c_type) expect(type, #type, sizeof(c_type))
#define F(type, bytes) expect(type, #type, bytes)

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    C(MPI_CHAR, char);
    C(MPI_SIGNED_CHAR, signed char);
    C(MPI_UNSIGNED_CHAR, unsigned char);
    C(MPI_SHORT, short);
    C(MPI_UNSIGNED_SHORT, unsigned short);
    C(MPI_INT, int);
    C(MPI_UNSIGNED, unsigned);
    C(MPI_LONG, long);
    C(MPI_UNSIGNED_LONG, unsigned long);
    C(MPI_LONG_LONG, long long);
    C(MPI_LONG_LONG_INT, long long);
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
    C(MPI_C_COMPLEX, float complex);
    C(MPI_C_FLOAT_COMPLEX, float complex);
    C(MPI_C_DOUBLE_COMPLEX, double complex);
    C(MPI_C_LONG_DOUBLE_COMPLEX, long double complex);
    C(MPI_CXX_BOOL, bool);
    C(MPI_CXX_FLOAT_COMPLEX, float complex);
    C(MPI_CXX_DOUBLE_COMPLEX, double complex);
    C(MPI_CXX_LONG_DOUBLE_COMPLEX, long double complex);
    C(MPI_AINT, MPI_Aint);
    C(MPI_OFFSET, MPI_Offset);
    C(MPI_COUNT, MPI_Count);
    F(MPI_BYTE, 1);
    F(MPI_PACKED, 1);
    F(MPI_CHARACTER, 1);
    F(MPI_LOGICAL, 4);
    F(MPI_INTEGER, 4);
    F(MPI_REAL, 4);
    F(MPI_DOUBLE_PRECISION, 8);
    F(MPI_COMPLEX, 8);
    F(MPI_DOUBLE_COMPLEX, 16);
    F(MPI_INTEGER1, 1);
    F(MPI_INTEGER2, 2);
    F(MPI_INTEGER4, 4);
    F(MPI_INTEGER8, 8);
    F(MPI_REAL4, 4);
    F(MPI_REAL8, 8);
    F(MPI_COMPLEX8, 8);
    F(MPI_COMPLEX16, 16);
    // Pairs: the sum of the members, without padding.
    F(MPI_FLOAT_INT, sizeof(float) + sizeof(int));
    F(MPI_DOUBLE_INT, sizeof(double) + sizeof(int));
    F(MPI_LONG_INT, sizeof(long) + sizeof(int));
    F(MPI_2INT, 2 * sizeof(int));
    F(MPI_SHORT_INT, sizeof(short) + sizeof(int));
    F(MPI_LONG_DOUBLE_INT, sizeof(long double) + sizeof(int));
    F(MPI_2REAL, 8);
    F(MPI_2DOUBLE_PRECISION, 16);
    F(MPI_2INTEGER, 8);
    int n;
    MPI_Count c;
    CHECK_ERROR(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE, "MPI_Type_size");
    CHECK_ERROR(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG, "MPI_Type_size");
    CHECK_ERROR(MPI_Type_size_x(MPI_DATATYPE_NULL, &c), MPI_ERR_TYPE, "MPI_Type_size_x");
    return finish();
}
