// ranks: 1 2 3 5 8
// no-check: all ranks write the same bytes
// Reads and writes at offsets and at the process's own file pointer, alone and together: what lands where, what a status
// says, what happens at the end of the file, and memory of every shape.
#include "files.h"

enum { BLOCK = 1000 };
static MPI_File fh;
static MPI_Status status;

static void offsets(void) {
    int block[BLOCK], got[BLOCK];
    fh = open_new("offsets");
    const MPI_Offset mine = (MPI_Offset)rank * (MPI_Offset)sizeof block;
    fill(block, sizeof block, (unsigned)rank);
    OK(MPI_File_write_at(fh, mine, block, BLOCK, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    CHECK_COUNT(status, MPI_BYTE, (int)sizeof block);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(size_outside("offsets"), size * (long long)sizeof block);
    const int next = (rank + 1) % size;
    memset(got, 0, sizeof got);
    OK(MPI_File_read_at_all(fh, next * (MPI_Offset)sizeof block, got, BLOCK, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    CHECK_PATTERN(got, sizeof got, next);
    // Neither pointer has moved.
    MPI_Offset at = -1;
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 0);
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 0);
    MPI_Barrier(MPI_COMM_WORLD);

    fill(block, sizeof block, 100 + (unsigned)rank);
    OK(MPI_File_write_at_all_c(fh, mine, block, BLOCK, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    OK(MPI_File_read_at_c(fh, mine, got, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_PATTERN(got, sizeof got, 100 + rank);
    close_file(&fh);
}

static void pointers(void) {
    int block[BLOCK], got[2 * BLOCK];
    MPI_Offset at = -1;
    fh = open_new("pointers");
    const MPI_Offset mine = (MPI_Offset)rank * 2 * (MPI_Offset)sizeof block;
    OK(MPI_File_seek(fh, mine, MPI_SEEK_SET));
    fill(block, sizeof block, (unsigned)rank);
    OK(MPI_File_write(fh, block, BLOCK, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, mine + (MPI_Offset)sizeof block);
    fill(block, sizeof block, 50 + (unsigned)rank);
    OK(MPI_File_write_all(fh, block, BLOCK, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    OK(MPI_File_seek(fh, -2 * (MPI_Offset)sizeof block, MPI_SEEK_CUR));
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, mine);
    OK(MPI_File_read(fh, got, BLOCK, MPI_INT, &status));
    OK(MPI_File_read_all(fh, got + BLOCK, BLOCK, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    CHECK_PATTERN(got, sizeof block, rank);
    CHECK_PATTERN(got + BLOCK, sizeof block, 50 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek(fh, -8, MPI_SEEK_END));
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, size * 2 * (MPI_Offset)sizeof block - 8);

    // At the end of the file, the existing data is read, and the pointer is behind it.
    OK(MPI_File_read(fh, got, 5, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 2);
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, size * 2 * (MPI_Offset)sizeof block);
    OK(MPI_File_read(fh, got, 5, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 0);
    OK(MPI_File_read_at(fh, at + 12345, got, 5, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 0);
    OK(MPI_File_read_at(fh, at - 6, got, 5, MPI_INT, &status));
    CHECK_COUNT(status, MPI_BYTE, 6);
    CHECK_COUNT(status, MPI_INT, MPI_UNDEFINED);

    CHECK_ERROR(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG, "MPI_File_seek");
    CHECK_ERROR(MPI_File_seek(fh, -at - 1, MPI_SEEK_END), MPI_ERR_ARG, "-1");
    CHECK_ERROR(MPI_File_seek(fh, 0, 77), MPI_ERR_ARG, "whence is 77");
    OK(MPI_File_seek(fh, 10, MPI_SEEK_SET));
    CHECK_ERROR(MPI_File_seek(fh, INT64_MAX, MPI_SEEK_CUR), MPI_ERR_ARG, "MPI_File_seek");
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 10);
    close_file(&fh);
}

// Memory with gaps, backwards, from absolute addresses, with short and with long pieces.
static void memory(void) {
    MPI_Datatype types[6];
    double source[4000], target[4000], packed[4000];
    MPI_Type_vector(200, 1, 3, MPI_DOUBLE, &types[0]);
    MPI_Type_vector(10, 100, 150, MPI_DOUBLE, &types[1]);
    MPI_Type_create_indexed_block(4, 5, (const int[]){900, 20, 40, 300}, MPI_DOUBLE, &types[2]);
    MPI_Type_create_resized(MPI_DOUBLE, -8, 40, &types[3]);
    MPI_Type_create_hvector(50, 1, -24, MPI_DOUBLE, &types[4]);
    MPI_Type_contiguous(7, MPI_DOUBLE, &types[5]);
    fh = open_new("memory");
    for (int i = 0; i < 6; i++) {
        MPI_Type_commit(&types[i]);
        const int count = i == 1 ? 2 : 3;
        const int first = i == 4 ? 2000 : 8;
        int bytes = 0, position = 0, elements = -1;
        if (i == 4) {
            // Its copies go back; one is enough.
            MPI_Type_size(types[i], &bytes);
        } else {
            MPI_Type_size(types[i], &bytes);
            bytes *= count;
        }
        const int copies = i == 4 ? 1 : count;
        fill(source, sizeof source, (unsigned)(10 * i + rank));
        memset(packed, 0, sizeof packed);
        MPI_Pack(source + first, copies, types[i], packed, (int)sizeof packed, &position, MPI_COMM_WORLD);
        CHECK_EQ(position, bytes);
        const MPI_Offset at = (MPI_Offset)rank * 40000;
        OK(MPI_File_write_at(fh, at, source + first, copies, types[i], &status));
        CHECK_COUNT(status, types[i], copies);
        OK(MPI_Get_elements(&status, types[i], &elements));
        CHECK_EQ(elements, bytes / 8);
        double outside[4000];
        CHECK_EQ(read_outside("memory", at, outside, (size_t)bytes), bytes);
        CHECK(!memcmp(outside, packed, (size_t)bytes));
        // And back, into nothing but where it belongs.
        memset(target, 0x55, sizeof target);
        OK(MPI_File_read_at(fh, at, target + first, copies, types[i], &status));
        CHECK_COUNT(status, types[i], copies);
        position = 0;
        double again[4000], expected[4000];
        MPI_Pack(target + first, copies, types[i], again, (int)sizeof again, &position, MPI_COMM_WORLD);
        CHECK(!memcmp(again, packed, (size_t)bytes));
        memset(expected, 0x55, sizeof expected);
        position = 0;
        MPI_Unpack(packed, bytes, &position, expected + first, copies, types[i], MPI_COMM_WORLD);
        CHECK(!memcmp(expected, target, sizeof target));
    }
    // A read that ends inside of a type: its elements are counted.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File other = open_new("short");
    fill(packed, 10 * 8, 3);
    if (rank == 0) write_outside("short", packed, 10 * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    int elements = -1;
    OK(MPI_File_read_at(other, 0, target, 3, types[5], &status));
    CHECK_COUNT(status, types[5], MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, types[5], &elements));
    CHECK_EQ(elements, 10);
    memset(target, 0x55, sizeof target);
    OK(MPI_File_read_at(other, 8, target + 8, 3, types[0], &status));
    OK(MPI_Get_elements(&status, types[0], &elements));
    CHECK_EQ(elements, 9);
    CHECK(!memcmp(&target[8 + 3 * 8], &packed[9], 8));
    CHECK_BYTES(&target[8 + 3 * 9], 8, 0x55);
    close_file(&other);

    // From MPI_BOTTOM.
    int value = 4711, got = 0, length = 1;
    MPI_Aint address;
    MPI_Datatype absolute;
    MPI_Get_address(&value, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    OK(MPI_File_write_at(fh, 4 * rank, MPI_BOTTOM, 1, absolute, &status));
    OK(MPI_File_read_at(fh, 4 * rank, &got, 1, MPI_INT, &status));
    CHECK_EQ(got, 4711);
    MPI_Type_free(&absolute);
    for (int i = 0; i < 6; i++) MPI_Type_free(&types[i]);
    close_file(&fh);
}

// Nothing, and far away.
static void extremes(void) {
    fh = open_new("extremes");
    MPI_Offset bytes = -1, at = -1;
    OK(MPI_File_write_at(fh, 100, NULL, 0, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 0);
    OK(MPI_File_write_at_all(fh, 100, NULL, 0, MPI_INT, &status));
    OK(MPI_File_read_all(fh, NULL, 0, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 0);
    OK(MPI_File_get_size(fh, &bytes));
    CHECK_EQ(bytes, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const MPI_Offset far = ((MPI_Offset)5 << 30) + 7 + 4096 * rank;
    int value = 1234 + rank, got = 0;
    OK(MPI_File_write_at(fh, far, &value, 1, MPI_INT, &status));
    OK(MPI_File_read_at(fh, far, &got, 1, MPI_INT, &status));
    CHECK_EQ(got, 1234 + rank);
    OK(MPI_File_seek(fh, far, MPI_SEEK_SET));
    OK(MPI_File_read(fh, &got, 1, MPI_INT, &status));
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, far + 4);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_size(fh, &bytes));
    CHECK_EQ(bytes, ((long long)5 << 30) + 7 + 4096 * (size - 1) + 4);
    // A hole reads as zeroes.
    got = -1;
    OK(MPI_File_read_at(fh, (MPI_Offset)3 << 30, &got, 1, MPI_INT, &status));
    CHECK_EQ(got, 0);
    CHECK_COUNT(status, MPI_INT, 1);

    CHECK_ERROR(MPI_File_read_at(fh, -4, &got, 1, MPI_INT, &status), MPI_ERR_ARG, "-4");
    CHECK_ERROR(MPI_File_write_at(fh, INT64_MAX - 1, &got, 1, MPI_INT, &status), MPI_ERR_ARG, "MPI_File_write_at");
    CHECK_ERROR(MPI_File_write_at(fh, 0, &got, -1, MPI_INT, &status), MPI_ERR_COUNT, "-1");
    CHECK_ERROR(MPI_File_write_at(fh, 0, NULL, 1, MPI_INT, &status), MPI_ERR_BUFFER, "null");
    CHECK_ERROR(MPI_File_read(fh, &got, 1, MPI_DATATYPE_NULL, &status), MPI_ERR_TYPE, "MPI_File_read");
    MPI_Datatype twice;
    MPI_Type_create_indexed_block(2, 1, (const int[]){0, 0}, MPI_INT, &twice);
    CHECK_ERROR(MPI_File_read_at(fh, 0, &got, 1, twice, &status), MPI_ERR_TYPE, "commit");
    MPI_Type_commit(&twice);
    OK(MPI_File_write_at(fh, 0, &value, 1, twice, &status));
    MPI_Type_free(&twice);
    close_file(&fh);
}

// The pointer does not move when nothing could be done.
static void failures(void) {
    MPI_Offset at = -1;
    int value = 0;
    fh = open_new("failures");
    close_file(&fh);
    OK(MPI_File_open(MPI_COMM_WORLD, "failures", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    OK(MPI_File_seek(fh, 8, MPI_SEEK_SET));
    CHECK_CLASS(MPI_File_write(fh, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY);
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 8);
    close_file(&fh);
    // A device that is always full.
    OK(MPI_File_open(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
    CHECK_ERROR(MPI_File_write(fh, &value, 1, MPI_INT, &status), MPI_ERR_NO_SPACE, "/dev/full");
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 0);
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    offsets();
    pointers();
    memory();
    extremes();
    failures();
    return finish();
}
