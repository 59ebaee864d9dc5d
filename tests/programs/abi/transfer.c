// ranks: 1 2
// no-valgrind: long doubles have 64 bits there, and such as 1e4000 are infinite
// A message of every predefined C type arrives with its values and counts as one sees them in C.
#include "../check.h"
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

static int right, left;

#define TRY(type, c_type, expression)                                                              \
    do {                                                                                           \
        c_type out[5], in[7];                                                                      \
        int count = -1;                                                                            \
        MPI_Status status;                                                                         \
        memset(out, 0, sizeof out);                                                                \
        memset(in, 0, sizeof in);                                                                  \
        for (int i = 0; i < 5; i++) out[i] = (c_type)(expression);                                 \
        MPI_Sendrecv(out, 5, type, right, 1, in, 7, type, left, 1, MPI_COMM_WORLD, &status);       \
        MPI_Get_count(&status, type, &count);                                                      \
        CHECK_EQ(count, 5);                                                                        \
        for (int i = 0; i < 5; i++)                                                                \
            if (!(in[i] == (c_type)(expression))) CHECK_FAIL("%s: element %d is wrong", #type, i); \
    } while (0)

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    TRY(MPI_CHAR, char, 'a' + i);
    TRY(MPI_SIGNED_CHAR, signed char, -i);
    TRY(MPI_UNSIGNED_CHAR, unsigned char, 250 + i);
    TRY(MPI_SHORT, short, -1000 * i);
    TRY(MPI_UNSIGNED_SHORT, unsigned short, 65535 - i);
    TRY(MPI_INT, int, -100000 * i);
    TRY(MPI_UNSIGNED, unsigned, 4000000000u + i);
    TRY(MPI_LONG, long, -5000000000l * i);
    TRY(MPI_UNSIGNED_LONG, unsigned long, ~0ul - i);
    TRY(MPI_LONG_LONG, long long, -5000000000ll * i);
    TRY(MPI_UNSIGNED_LONG_LONG, unsigned long long, ~0ull - i);
    TRY(MPI_FLOAT, float, 0.5 * i);
    TRY(MPI_DOUBLE, double, -1e300 * i);
    TRY(MPI_LONG_DOUBLE, long double, 1e4000L * i);
    TRY(MPI_WCHAR, wchar_t, 0x1f600 + i);
    TRY(MPI_C_BOOL, bool, i & 1);
    TRY(MPI_INT8_T, int8_t, -i);
    TRY(MPI_INT16_T, int16_t, -i);
    TRY(MPI_INT32_T, int32_t, -i);
    TRY(MPI_INT64_T, int64_t, -i);
    TRY(MPI_UINT8_T, uint8_t, ~i);
    TRY(MPI_UINT16_T, uint16_t, ~i);
    TRY(MPI_UINT32_T, uint32_t, ~i);
    TRY(MPI_UINT64_T, uint64_t, ~(uint64_t)i);
    TRY(MPI_C_COMPLEX, float complex, i + 2 * i * I);
    TRY(MPI_C_DOUBLE_COMPLEX, double complex, i - 3 * i * I);
    TRY(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, i * I);
    TRY(MPI_AINT, MPI_Aint, -i);
    TRY(MPI_OFFSET, MPI_Offset, -i);
    TRY(MPI_COUNT, MPI_Count, -i);
    TRY(MPI_BYTE, unsigned char, i);
    return finish();
}
