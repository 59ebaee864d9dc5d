// ranks: 1 2
// Packing and unpacking, several messages to a unit, sent as MPI_PACKED or as what they are; external32; and what is
// refused.
#include "layout.h"
#include <complex.h>

static void units(void) {
    char buf[256];
    int position = 0, n = 0, i = 17, j = 0;
    double d[3] = {0.5, -1.5, 2.5}, e[3] = {0};
    MPI_Datatype every_second;
    OK(MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &every_second));
    OK(MPI_Type_commit(&every_second));
    OK(MPI_Pack_size(1, every_second, MPI_COMM_WORLD, &n));
    CHECK(n >= 16);
    OK(MPI_Pack(&i, 1, MPI_INT, buf, 256, &position, MPI_COMM_WORLD));
    int first = position;
    CHECK(first >= 4);
    OK(MPI_Pack(d, 1, every_second, buf, 256, &position, MPI_COMM_WORLD));
    CHECK(position - first <= n);
    int total = position;
    position = 0;
    OK(MPI_Unpack(buf, total, &position, &j, 1, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(j, 17);
    CHECK_EQ(position, first);
    OK(MPI_Unpack(buf, total, &position, e, 1, every_second, MPI_COMM_WORLD));
    CHECK_EQ(position, total);
    CHECK(e[0] == 0.5 && e[1] == 0 && e[2] == 2.5);
    // The count forms, and several elements at once.
    MPI_Count place = 3, size_c = -1;
    int many[10], back[10];
    for (int k = 0; k < 10; k++) many[k] = k * k;
    OK(MPI_Pack_size_c(10, MPI_INT, MPI_COMM_SELF, &size_c));
    CHECK_EQ(size_c, 40);
    OK(MPI_Pack_c(many, 10, MPI_INT, buf, 256, &place, MPI_COMM_SELF));
    CHECK_EQ(place, 43);
    place = 3;
    OK(MPI_Unpack_c(buf, 256, &place, back, 10, MPI_INT, MPI_COMM_SELF));
    CHECK_EQ(place, 43);
    CHECK(!memcmp(many, back, sizeof many));
    OK(MPI_Type_free(&every_second));

    // A packed unit is received as what it was packed from, and the other way round.
    int partner = size > 1 ? 1 - rank : 0;
    struct {
        int a[2];
    } pair = {{rank, 99}}, got = {{-1, -1}};
    position = 0;
    OK(MPI_Pack(&pair.a[0], 1, MPI_INT, buf, 256, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(&pair.a[1], 1, MPI_INT, buf, 256, &position, MPI_COMM_WORLD));
    OK(MPI_Sendrecv(buf, position, MPI_PACKED, partner, 1, got.a, 2, MPI_INT, partner, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(got.a[0] == partner && got.a[1] == 99);
    MPI_Status status;
    OK(MPI_Sendrecv(pair.a, 2, MPI_INT, partner, 2, buf, 256, MPI_PACKED, partner, 2, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_PACKED, &n));
    position = 0;
    OK(MPI_Unpack(buf, n, &position, &got.a[1], 1, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(got.a[1], partner);
}

static void refused(void) {
    int value = 1, position = 0, n = 0;
    char buf[8] = {0};
    CHECK_ERROR(MPI_Pack(&value, 1, MPI_INT, buf, 3, &position, MPI_COMM_SELF), MPI_ERR_TRUNCATE, "4 bytes");
    CHECK_EQ(position, 0);
    position = 2;
    CHECK_CLASS(MPI_Pack(&value, 1, MPI_INT, buf, 5, &position, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Unpack(buf, 5, &position, &value, 1, MPI_INT, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
    position = -1;
    CHECK_ERROR(MPI_Pack(&value, 1, MPI_INT, buf, 8, &position, MPI_COMM_SELF), MPI_ERR_ARG, "position is -1");
    CHECK_CLASS(MPI_Unpack(buf, 8, &position, &value, 1, MPI_INT, MPI_COMM_SELF), MPI_ERR_ARG);
    position = 9;
    CHECK_CLASS(MPI_Pack(&value, 1, MPI_INT, buf, 8, &position, MPI_COMM_SELF), MPI_ERR_ARG);
    position = 0;
    CHECK_CLASS(MPI_Pack(&value, 1, MPI_INT, buf, -8, &position, MPI_COMM_SELF), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Unpack(buf, -8, &position, &value, 1, MPI_INT, MPI_COMM_SELF), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack(&value, -1, MPI_INT, buf, 8, &position, MPI_COMM_SELF), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Unpack(buf, 8, &position, &value, -1, MPI_INT, MPI_COMM_SELF), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Pack_size(-1, MPI_INT, MPI_COMM_SELF, &n), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Pack(&value, 1, MPI_INT, buf, 8, &position, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Unpack(buf, 8, &position, &value, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Pack_size(1, MPI_INT, MPI_COMM_NULL, &n), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Pack(&value, 1, MPI_INT, NULL, 8, &position, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Pack(NULL, 1, MPI_INT, buf, 8, &position, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Unpack(NULL, 8, &position, &value, 1, MPI_INT, MPI_COMM_SELF), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Pack(&value, 1, MPI_INT, buf, 8, NULL, MPI_COMM_SELF), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack_size(1, MPI_INT, MPI_COMM_SELF, NULL), MPI_ERR_ARG);
    OK(MPI_Pack(NULL, 0, MPI_INT, NULL, 0, &position, MPI_COMM_SELF));

    // A type that has a place twice may be packed from, but not unpacked to.
    MPI_Datatype twice;
    OK(MPI_Type_create_hvector(2, 1, 0, MPI_INT, &twice));
    OK(MPI_Type_commit(&twice));
    OK(MPI_Pack(&value, 1, twice, buf, 8, &position, MPI_COMM_SELF));
    position = 0;
    CHECK_ERROR(MPI_Unpack(buf, 8, &position, &value, 1, twice, MPI_COMM_SELF), MPI_ERR_TYPE, "overlap");
    OK(MPI_Type_free(&twice));
}

#define EXTERNAL(type, ctype, value, ...)                                                                \
    do {                                                                                                 \
        const unsigned char want_[] = {__VA_ARGS__};                                                     \
        unsigned char out_[64];                                                                          \
        ctype in_ = (value), back_;                                                                      \
        MPI_Aint at_ = 0, n_ = -1;                                                                       \
        memset(&back_, 0, sizeof back_);                                                                 \
        OK(MPI_Pack_external_size("external32", 1, type, &n_));                                          \
        CHECK_EQ(n_, (int)sizeof want_);                                                                 \
        OK(MPI_Pack_external("external32", &in_, 1, type, out_, 64, &at_));                              \
        CHECK_EQ(at_, (int)sizeof want_);                                                                \
        if (memcmp(out_, want_, sizeof want_)) CHECK_FAIL("%s in external32 is wrong", #type);           \
        at_ = 0;                                                                                         \
        OK(MPI_Unpack_external("external32", out_, (MPI_Aint)sizeof want_, &at_, &back_, 1, type));      \
        CHECK_EQ(at_, (int)sizeof want_);                                                                \
        if (memcmp(&back_, &in_, sizeof(ctype) < 16 ? sizeof(ctype) : 10)) CHECK_FAIL("%s did not come back", #type); \
    } while (0)

static void external(void) {
    EXTERNAL(MPI_INT, int, -2, 0xff, 0xff, 0xff, 0xfe);
    EXTERNAL(MPI_SHORT, short, 0x1234, 0x12, 0x34);
    EXTERNAL(MPI_LONG, long, -3, 0xff, 0xff, 0xff, 0xfd);
    EXTERNAL(MPI_UNSIGNED_LONG, unsigned long, 0xfedcba98u, 0xfe, 0xdc, 0xba, 0x98);
    EXTERNAL(MPI_LONG_LONG, long long, 1, 0, 0, 0, 0, 0, 0, 0, 1);
    EXTERNAL(MPI_FLOAT, float, 1.0f, 0x3f, 0x80, 0, 0);
    EXTERNAL(MPI_DOUBLE, double, -2.0, 0xc0, 0, 0, 0, 0, 0, 0, 0);
    EXTERNAL(MPI_LONG_DOUBLE, long double, 1.0L, 0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    EXTERNAL(MPI_C_FLOAT_COMPLEX, float complex, 1.0f, 0x3f, 0x80, 0, 0, 0, 0, 0, 0);
    EXTERNAL(MPI_CHAR, char, 'A', 0x41);
    EXTERNAL(MPI_WCHAR, wchar_t, 0x20ac, 0x20, 0xac);
    EXTERNAL(MPI_C_BOOL, _Bool, 1, 1);
    EXTERNAL(MPI_LOGICAL, int, 1, 0, 0, 0, 1);
    EXTERNAL(MPI_AINT, MPI_Aint, -1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    EXTERNAL(MPI_OFFSET, MPI_Offset, 2, 0, 0, 0, 0, 0, 0, 0, 2);
    EXTERNAL(MPI_COUNT, MPI_Count, 3, 0, 0, 0, 0, 0, 0, 0, 3);
    EXTERNAL(MPI_INT64_T, int64_t, 4, 0, 0, 0, 0, 0, 0, 0, 4);
    EXTERNAL(MPI_BYTE, char, 5, 5);

    // A struct, twice, in one buffer; and the count forms.
    struct {
        char c;
        double d;
    } in[2] = {{'x', 1.0}, {'y', 2.0}}, out[2];
    int lens[] = {1, 1};
    MPI_Aint disps[] = {offsetof(__typeof__(*in), c), offsetof(__typeof__(*in), d)}, at = 0;
    MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE}, t;
    unsigned char packed[18];
    OK(MPI_Type_create_struct(2, lens, disps, members, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Pack_external("external32", in, 2, t, packed, 18, &at));
    CHECK_EQ(at, 18);
    CHECK(packed[0] == 'x' && packed[1] == 0x3f && packed[2] == 0xf0 && packed[9] == 'y' && packed[10] == 0x40);
    memset(out, 0, sizeof out);
    MPI_Count place = 0, bytes = -1;
    OK(MPI_Unpack_external_c("external32", packed, 18, &place, out, 2, t));
    CHECK_EQ(place, 18);
    CHECK(out[0].c == 'x' && out[0].d == 1.0 && out[1].c == 'y' && out[1].d == 2.0);
    OK(MPI_Pack_external_size_c("external32", 100, t, &bytes));
    CHECK_EQ(bytes, 900);
    place = 0;
    OK(MPI_Pack_external_c("external32", in, 1, t, packed, 9, &place));
    CHECK_EQ(place, 9);

    at = 0;
    CHECK_CLASS(MPI_Pack_external("external32", in, 2, t, packed, 17, &at), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Unpack_external("external32", packed, 17, &at, out, 2, t), MPI_ERR_TRUNCATE);
    CHECK_ERROR(MPI_Pack_external("native", in, 1, t, packed, 18, &at), MPI_ERR_ARG, "native");
    CHECK_CLASS(MPI_Unpack_external("", packed, 18, &at, out, 1, t), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack_external_size("internal", 1, t, &at), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack_external(NULL, in, 1, t, packed, 18, &at), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack_external("external32", in, -1, t, packed, 18, &at), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Unpack_external("external32", packed, 18, &at, out, -1, t), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Pack_external_size("external32", -1, t, &at), MPI_ERR_COUNT);
    at = -4;
    CHECK_CLASS(MPI_Pack_external("external32", in, 1, t, packed, 18, &at), MPI_ERR_ARG);
    OK(MPI_Type_free(&t));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    units();
    refused();
    external();
    return finish();
}
