// ranks: 1
// cflags: -O2 -Wno-pedantic
// Long doubles in external32, which has 128 bits for them: exact on the way out, rounded to nearest on the way in.
#include "layout.h"
#include <math.h>

#if defined(__x86_64__) && defined(__SIZEOF_FLOAT128__)
static void reverse(unsigned char *to, const void *from) {
    for (int i = 0; i < 16; i++) to[i] = ((const unsigned char *)from)[15 - i];
}

static long double unpacked(unsigned char *bytes) {
    long double x = 7;
    MPI_Aint at = 0;
    OK(MPI_Unpack_external("external32", bytes, 16, &at, &x, 1, MPI_LONG_DOUBLE));
    CHECK_EQ(at, 16);
    return x;
}

// Out and in again; 10 of the 16 bytes of a long double have a meaning.
static void there_and_back(long double x) {
    unsigned char bytes[16], want[16];
    MPI_Aint at = 0;
    __float128 wide = x;
    OK(MPI_Pack_external("external32", &x, 1, MPI_LONG_DOUBLE, bytes, 16, &at));
    CHECK_EQ(at, 16);
    long double back = unpacked(bytes);
    if (isnan(x)) {
        CHECK(isnan(back));
        return;
    }
    reverse(want, &wide);
    if (memcmp(bytes, want, 16)) CHECK_FAIL("%La is not what it should be in external32", x);
    if (memcmp(&x, &back, 10)) CHECK_FAIL("%La came back as %La", x, back);
}

static void from_wide(__float128 wide) {
    unsigned char bytes[16];
    reverse(bytes, &wide);
    long double x = unpacked(bytes), want = (long double)wide;
    if (memcmp(&x, &want, 10)) CHECK_FAIL("%La should be %La", x, want);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    srand(5);
    static const long double some[] = {0,        -0.0L,     1,         -1,      0.1L,     1e4900L, 1e-4940L,
                                       INFINITY, -INFINITY, 3.4e-4932L, 4e-4951L, 1.18e4932L};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) there_and_back(some[i]);
    there_and_back(NAN);
    for (int i = 0; i < 200000; i++) {
        union {
            long double x;
            unsigned char bytes[16];
        } any = {0};
        for (int k = 0; k < 10; k++) any.bytes[k] = (unsigned char)(rand() >> 7);
        // The highest bit of the fraction is explicit: set in all but the smallest numbers.
        int tiny = any.bytes[8] == 0 && (any.bytes[9] & 0x7f) == 0;
        any.bytes[7] = (unsigned char)(tiny ? any.bytes[7] & 0x7f : any.bytes[7] | 0x80);
        there_and_back(any.x);
    }
    for (int i = 0; i < 200000; i++) {
        unsigned char bytes[16];
        __float128 wide;
        for (int k = 0; k < 16; k++) bytes[k] = (unsigned char)(rand() >> 7);
        if (i % 3 == 0) bytes[14] = 0, bytes[15] &= 0x80;
        if (i % 5 == 0) memset(bytes, 0, 6);
        if (i % 7 == 0) memset(bytes, 0xff, 6);
        memcpy(&wide, bytes, 16);
        if (wide == wide) from_wide(wide);
    }
    return finish();
}
#else
int main(int argc, char **argv) {
    start(&argc, &argv);
    return finish();
}
#endif
