// ranks: 1 2 3
// external32: what lies in the file is big-endian and as long as the standard says, whatever it is in memory.
#include "files.h"

static MPI_File fh;
static MPI_Status status;

static void bytes_in_file(void) {
    static const unsigned char expected[] = {
        0x01, 0x02, 0x03, 0x04, 0xff, 0xff, 0xff, 0xfe, // two ints
        0x3f, 0xf0, 0, 0, 0, 0, 0, 0,                   // a double
        0xff, 0xff, 0xff, 0xfd, 0x00, 0x00, 0x00, 0x05, // two longs, four bytes each
        0x12, 0x34,                                     // a short
    };
    const int ints[] = {0x01020304, -2};
    const double one = 1.0;
    const long longs[] = {-3, 5};
    const short small = 0x1234;
    unsigned char outside[sizeof expected];
    const MPI_Offset mine = 64 * rank;
    fh = open_new("bytes");
#define VIEW(at, type) OK(MPI_File_set_view(fh, mine + (at), type, type, "external32", MPI_INFO_NULL))
    VIEW(0, MPI_INT);
    OK(MPI_File_write(fh, ints, 2, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 2);
    VIEW(8, MPI_DOUBLE);
    OK(MPI_File_write_all(fh, &one, 1, MPI_DOUBLE, &status));
    VIEW(16, MPI_LONG);
    OK(MPI_File_write_at(fh, 0, longs, 2, MPI_LONG, &status));
    CHECK_COUNT(status, MPI_LONG, 2);
    MPI_Offset at = -1;
    OK(MPI_File_get_byte_offset(fh, 2, &at));
    CHECK_EQ(at, mine + 24);
    VIEW(24, MPI_SHORT);
    OK(MPI_File_write_at_all(fh, 0, &small, 1, MPI_SHORT, &status));
    CHECK_EQ(read_outside("bytes", mine, outside, sizeof outside), sizeof outside);
    for (size_t i = 0; i < sizeof expected; i++) CHECK_EQ(outside[i], expected[i]);

    int got_ints[2] = {0};
    long got_longs[3] = {0, 0, 77};
    double got_one = 0;
    VIEW(0, MPI_INT);
    OK(MPI_File_read_all(fh, got_ints, 2, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 2);
    CHECK(!memcmp(got_ints, ints, sizeof ints));
    VIEW(8, MPI_DOUBLE);
    OK(MPI_File_read(fh, &got_one, 1, MPI_DOUBLE, &status));
    CHECK(got_one == 1.0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_size(fh, 64 * (size - 1) + 24));
    VIEW(16, MPI_LONG);
    // The last rank's file ends here.
    OK(MPI_File_read(fh, got_longs, 3, MPI_LONG, &status));
    CHECK_COUNT(status, MPI_LONG, rank == size - 1 ? 2 : 3);
    CHECK_EQ(got_longs[0], -3);
    CHECK_EQ(got_longs[1], 5);
    if (rank == size - 1) CHECK_EQ(got_longs[2], 77);
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, rank == size - 1 ? 2 : 3);

    MPI_Aint extent = -1;
    MPI_Count large = -1;
    MPI_Datatype vector, structure;
    OK(MPI_File_get_type_extent(fh, MPI_LONG, &extent));
    CHECK_EQ(extent, 4);
    OK(MPI_File_get_type_extent_c(fh, MPI_WCHAR, &large));
    CHECK_EQ(large, 2);
    MPI_Type_vector(3, 1, 4, MPI_LONG, &vector);
    OK(MPI_File_get_type_extent(fh, vector, &extent));
    CHECK_EQ(extent, 4 * 9);
    MPI_Type_create_struct(2, (const int[]){1, 1}, (const MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT},
                           &structure);
    OK(MPI_File_get_type_extent(fh, structure, &extent));
    CHECK_EQ(extent, 12);
    OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_get_type_extent(fh, structure, &extent));
    CHECK_EQ(extent, 16);
    MPI_Type_free(&vector);
    MPI_Type_free(&structure);
    close_file(&fh);
}

// Longs that the ranks take in turn, from memory with gaps: the view is as wide as the file's longs.
static void views(void) {
    enum { COUNT = 200 };
    long mine[2 * COUNT], got[2 * COUNT];
    MPI_Datatype turn, block, gaps;
    int lengths[1] = {2}, places[1] = {2 * rank};
    fh = open_new("views");
    MPI_Type_indexed(1, lengths, places, MPI_LONG, &block);
    MPI_Type_create_subarray(1, (const int[]){2 * size}, (const int[]){2}, (const int[]){2 * rank}, MPI_ORDER_C, MPI_LONG,
                             &turn);
    MPI_Type_commit(&turn);
    MPI_Type_vector(COUNT, 1, 2, MPI_LONG, &gaps);
    MPI_Type_commit(&gaps);
    OK(MPI_File_set_view(fh, 0, MPI_LONG, turn, "external32", MPI_INFO_NULL));
    for (int i = 0; i < 2 * COUNT; i++) mine[i] = i % 2 ? 1L << 40 : 1000 * rank - i;
    OK(MPI_File_write_all(fh, mine, 1, gaps, &status));
    CHECK_COUNT(status, gaps, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(size_outside("views"), 4LL * COUNT * size);
    for (int i = 0; i < COUNT; i++) {
        unsigned char word[4];
        const long long at = 4LL * (i / 2 * 2 * size + 2 * rank + i % 2);
        CHECK_EQ(read_outside("views", at, word, 4), 4);
        const int value = (int)((unsigned)word[0] << 24 | (unsigned)word[1] << 16 | (unsigned)word[2] << 8 | word[3]);
        CHECK_EQ(value, mine[2 * i]);
    }
    memset(got, 0x11, sizeof got);
    OK(MPI_File_read_at_all(fh, 0, got, 1, gaps, &status));
    CHECK_COUNT(status, gaps, 1);
    for (int i = 0; i < COUNT; i++) CHECK_EQ(got[2 * i], mine[2 * i]);
    CHECK_BYTES(&got[1], 8, 0x11);
    // A read that the file ends: whole elements.
    int elements = -1;
    OK(MPI_File_read_at(fh, COUNT - 3, got, 1, gaps, &status));
    OK(MPI_Get_elements(&status, gaps, &elements));
    CHECK_EQ(elements, 3);
    CHECK_EQ(got[4], mine[2 * COUNT - 2]);
    MPI_Type_free(&turn);
    MPI_Type_free(&block);
    MPI_Type_free(&gaps);
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    bytes_in_file();
    views();
    return finish();
}
