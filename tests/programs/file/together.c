// ranks: 1 2 3 4 7
// Collective accesses whose short pieces alternate between the ranks: with and without collective
// buffering, in many windows, with gaps that nobody may write, and with errors on one rank.
#include "files.h"
#include <signal.h>
#include <sys/resource.h>

static MPI_File fh;
static MPI_Status status;

enum { FILLER = 0xa5 };

static unsigned char byte_of(int of, long at) { return (unsigned char)(at * 7 + of * 31 + at / 251); }

static MPI_Info hints_of(const char *write, const char *read, const char *window, const char *nodes) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", write));
    OK(MPI_Info_set(info, "romio_cb_read", read));
    if (window) OK(MPI_Info_set(info, "cb_buffer_size", window));
    if (nodes) OK(MPI_Info_set(info, "cb_nodes", nodes));
    return info;
}

// Blocks of one length, one of each rank, then a gap; from a displacement on.
static void set_blocks(int block, int gap, MPI_Offset disp, MPI_Info info) {
    MPI_Datatype one, type;
    MPI_Type_contiguous(block, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)block * size + gap, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(fh, disp + (MPI_Offset)block * rank, MPI_BYTE, type, "native", info));
    MPI_Type_free(&type);
    MPI_Type_free(&one);
}

// The file that ranks write in so many blocks each, into one that was full of filler.
static void check_blocks(const char *name, int block, int gap, long disp, const long *bytes) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        const long stride = (long)block * size + gap, length = 300000;
        unsigned char *got = malloc((size_t)length), *want = malloc((size_t)length);
        memset(want, FILLER, (size_t)length);
        for (int of = 0; of < size; of++)
            for (long at = 0; at < bytes[of]; at++)
                want[disp + at / block * stride + (long)of * block + at % block] = byte_of(of, at);
        CHECK_EQ(read_outside(name, 0, got, (size_t)length), length);
        for (long at = 0; at < length; at++)
            if (got[at] != want[at]) CHECK_FAIL("byte %ld is %d, not %d (blocks of %d)", at, got[at], want[at], block);
        free(got);
        free(want);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fill_file(const char *name) {
    if (rank == 0) {
        unsigned char *filler = malloc(300000);
        memset(filler, FILLER, 300000);
        write_outside(name, filler, 300000);
        free(filler);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// All blocks in all ways; memory with and without gaps.
static void blocks(MPI_Info info, int form) {
    static const int lengths[] = {1, 3, 8, 60, 512, 4096};
    for (int which = 0; which < 6; which++) {
        const int block = lengths[which], gap = which % 2 ? 0 : block;
        // Ranks write different numbers of bytes; one of several writes nothing.
        long bytes[16];
        const long most = 60000 / (size * (gap ? 2 : 1)) / block * block;
        for (int of = 0; of < size; of++) bytes[of] = size > 2 && of == 1 ? 0 : most - (long)of * block * (block < 60);
        unsigned char *data = malloc((size_t)most), *apart = malloc(3 * (size_t)most), *found = malloc(3 * (size_t)most);
        for (long at = 0; at < bytes[rank]; at++) apart[3 * at] = data[at] = byte_of(rank, at);
        MPI_Datatype third;
        MPI_Type_create_resized(MPI_BYTE, 0, 3, &third);
        MPI_Type_commit(&third);
        fill_file("blocks");
        OK(MPI_File_open(MPI_COMM_WORLD, "blocks", MPI_MODE_RDWR, info, &fh));
        set_blocks(block, gap, 5, MPI_INFO_NULL);
        const int count = (int)bytes[rank];
        MPI_Request request;
        switch (form) {
        case 0: OK(MPI_File_write_all(fh, data, count, MPI_BYTE, &status)); break;
        case 1: OK(MPI_File_write_at_all(fh, 0, apart, count, third, &status)); break;
        case 2:
            OK(MPI_File_write_all_begin(fh, data, count, MPI_BYTE));
            OK(MPI_File_write_all_end(fh, data, &status));
            break;
        case 3:
            OK(MPI_File_iwrite_all(fh, apart, count, third, &request));
            OK(MPI_Wait(&request, &status));
            break;
        default: // In two parts of different lengths.
            OK(MPI_File_write_all(fh, data, count / 3, MPI_BYTE, &status));
            OK(MPI_File_iwrite_at_all(fh, count / 3, data + count / 3, count - count / 3, MPI_BYTE, &request));
            OK(MPI_Wait(&request, &status));
        }
        CHECK_COUNT(status, MPI_BYTE, form < 4 ? count : count - count / 3);
        MPI_Offset at = -1;
        OK(MPI_File_get_position(fh, &at));
        CHECK_EQ(at, form == 0 || form == 2 || form == 3 ? count : form == 4 ? count / 3 : 0);
        check_blocks("blocks", block, gap, 5, bytes);

        memset(found, 0, 3 * (size_t)most);
        OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
        switch (form) {
        case 1:
        case 3:
            OK(MPI_File_iread_all(fh, found, count, third, &request));
            OK(MPI_Wait(&request, &status));
            for (int i = 0; i < count; i++) CHECK_EQ(found[3 * i], data[i]);
            break;
        default:
            OK(MPI_File_read_all(fh, found, count, MPI_BYTE, &status));
            CHECK(memcmp(found, data, (size_t)count) == 0);
        }
        CHECK_COUNT(status, MPI_BYTE, count);
        close_file(&fh);
        MPI_Type_free(&third);
        free(data);
        free(apart);
        free(found);
    }
}

// The file ends in the middle of what is read.
static void ends(MPI_Info info) {
    unsigned char data[4000];
    const int block = 8, all = 1001;
    if (rank == 0) {
        unsigned char bytes[1001];
        for (int i = 0; i < all; i++) bytes[i] = byte_of(9, i);
        write_outside("ends", bytes, sizeof bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, "ends", MPI_MODE_RDONLY, info, &fh));
    set_blocks(block, 0, 0, MPI_INFO_NULL);
    OK(MPI_File_read_all(fh, data, sizeof data, MPI_BYTE, &status));
    int expected = 0;
    for (int at = 0; at < all; at++) {
        if (at / block % size != rank) continue;
        if (data[expected] != byte_of(9, at)) CHECK_FAIL("byte %d is wrong", at);
        expected++;
    }
    CHECK_COUNT(status, MPI_BYTE, expected);
    MPI_Offset at = -1;
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, expected);
    close_file(&fh);
}

// Big-endian numbers of eight bytes.
static void portable(MPI_Info info) {
    long numbers[3000], found[3000];
    MPI_Datatype type;
    fh = open_new("portable");
    MPI_Type_create_resized(MPI_INT64_T, 0, 8 * size, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(fh, 8 * rank, MPI_INT64_T, type, "external32", info));
    for (int i = 0; i < 3000; i++) numbers[i] = (long)i * size + rank;
    OK(MPI_File_write_all(fh, numbers, 3000, MPI_INT64_T, &status));
    CHECK_COUNT(status, MPI_INT64_T, 3000);
    OK(MPI_File_read_at_all(fh, 0, found, 3000, MPI_INT64_T, &status));
    CHECK_COUNT(status, MPI_INT64_T, 3000);
    CHECK(memcmp(numbers, found, sizeof numbers) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        unsigned char bytes[8];
        const long at = 1000;
        CHECK_EQ(read_outside("portable", 8 * at, bytes, 8), 8);
        CHECK_EQ(bytes[6] * 256 + bytes[7], at);
    }
    close_file(&fh);
    MPI_Type_free(&type);
}

// A wrong argument on one rank: its error there, and the data of the others in the file.
static void one_fails(MPI_Info info) {
    const int bad = size - 1, block = 8, count = 8000;
    unsigned char *data = malloc((size_t)count);
    long bytes[16];
    for (int of = 0; of < size; of++) bytes[of] = of == bad || of == 0 ? 0 : count;
    for (int i = 0; i < count; i++) data[i] = byte_of(rank, i);
    fill_file("fails");
    OK(MPI_File_open(MPI_COMM_WORLD, "fails", MPI_MODE_RDWR, info, &fh));
    set_blocks(block, 0, 0, MPI_INFO_NULL);
    // The first rank is an aggregator, and fails too.
    if (rank == bad || rank == 0)
        CHECK_ERROR(MPI_File_write_at_all(fh, -3, data, count, MPI_BYTE, &status), MPI_ERR_ARG, "-3");
    else
        OK(MPI_File_write_at_all(fh, 0, data, count, MPI_BYTE, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    check_blocks("fails", block, 0, 0, bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == bad || rank == 0)
        CHECK_ERROR(MPI_File_iread_at_all(fh, -3, data, count, MPI_BYTE, &request), MPI_ERR_ARG, "-3");
    else {
        memset(data, 0, (size_t)count);
        OK(MPI_File_iread_at_all(fh, 0, data, count, MPI_BYTE, &request));
        OK(MPI_Wait(&request, &status));
        for (int i = 0; i < count; i++) CHECK_EQ(data[i], byte_of(rank, i));
    }
    // And nothing is left of it for the next call.
    OK(MPI_File_write_at_all(fh, 0, data, 0, MPI_BYTE, &status));
    CHECK_COUNT(status, MPI_BYTE, 0);
    close_file(&fh);
    free(data);
}

// The first rank moves one long run, which lies in a gap of what the others move in short pieces.
static void long_and_short(MPI_Info info) {
    enum { BLOCK = 8, GAP_FROM = 40000, GAP = 30000, COUNT = 4000 };
    unsigned char *data = malloc(GAP), *found = malloc(GAP);
    const int count = rank == 0 ? GAP : COUNT;
    for (int i = 0; i < count; i++) data[i] = byte_of(rank, i);
    fill_file("lengths");
    OK(MPI_File_open(MPI_COMM_WORLD, "lengths", MPI_MODE_RDWR, info, &fh));
    if (rank == 0) {
        OK(MPI_File_set_view(fh, GAP_FROM, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    } else {
        // Half of the blocks before the gap, half behind it.
        MPI_Datatype half, halves;
        const MPI_Aint places[] = {0, GAP_FROM + GAP};
        const int both[] = {1, 1};
        MPI_Type_vector(COUNT / 2 / BLOCK, BLOCK, BLOCK * size, MPI_BYTE, &half);
        MPI_Type_create_hindexed(2, both, places, half, &halves);
        MPI_Type_commit(&halves);
        OK(MPI_File_set_view(fh, BLOCK * rank, MPI_BYTE, halves, "native", MPI_INFO_NULL));
        MPI_Type_free(&half);
        MPI_Type_free(&halves);
    }
    for (int round = 0; round < 3; round++) {
        OK(MPI_File_write_at_all(fh, 0, data, count, MPI_BYTE, &status));
        CHECK_COUNT(status, MPI_BYTE, count);
        MPI_Barrier(MPI_COMM_WORLD);
        memset(found, 0, (size_t)count);
        OK(MPI_File_read_at_all(fh, 0, found, count, MPI_BYTE, &status));
        CHECK_COUNT(status, MPI_BYTE, count);
        CHECK(memcmp(found, data, (size_t)count) == 0);
    }
    if (rank == 0) {
        unsigned char got[BLOCK];
        CHECK_EQ(read_outside("lengths", 0, got, BLOCK), BLOCK);
        for (int i = 0; i < BLOCK; i++) CHECK_EQ(got[i], FILLER);
        CHECK_EQ(read_outside("lengths", GAP_FROM + GAP - 1, got, 2), 2);
        CHECK_EQ(got[0], byte_of(0, GAP - 1));
        CHECK_EQ(got[1], FILLER);
    }
    close_file(&fh);
    free(data);
    free(found);
}

// No room: whoever wrote for the others says why, and nobody waits for ever.
static void no_room(MPI_Info info) {
    const int block = 8, count = 80000;
    unsigned char *data = calloc(1, (size_t)count);
    struct rlimit old, limit;
    signal(SIGXFSZ, SIG_IGN);
    fh = open_new("room");
    set_blocks(block, 0, 0, info);
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 16384;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK_CLASS(MPI_File_write_all(fh, data, count, MPI_BYTE, &status), MPI_ERR_IO);
    MPI_Barrier(MPI_COMM_WORLD);
    setrlimit(RLIMIT_FSIZE, &old);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_write_at_all(fh, 0, data, count, MPI_BYTE, &status));
    CHECK_COUNT(status, MPI_BYTE, count);
    close_file(&fh);
    free(data);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    for (int way = 0; way < 4; way++) {
        MPI_Info info = way == 0   ? hints_of("automatic", "automatic", NULL, NULL)
                        : way == 1 ? hints_of("disable", "disable", NULL, NULL)
                        : way == 2 ? hints_of("enable", "enable", "8192", "1")
                                   : hints_of("enable", "enable", "20000", "3");
        for (int form = 0; form < 5; form++) blocks(info, form);
        ends(info);
        portable(info);
        one_fails(info);
        long_and_short(info);
        no_room(info);
        MPI_Info_free(&info);
    }
    return finish();
}
