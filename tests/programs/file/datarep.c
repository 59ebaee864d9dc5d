// ranks: 1 2 3
// User-defined data representations: ints as eleven digits, shorts as two, what is written lies so in the file.
#include "files.h"

static MPI_File fh;
static MPI_Status status;

typedef struct {
    int reads, writes, extents, fail;
} Calls;

static Calls calls;

static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *state) {
    Calls *own = state;
    own->extents++;
    if (own->fail == 3) return 17;
    if (own->fail == 4) *extent = MPI_UNDEFINED;
    else if (datatype == MPI_INT) *extent = 11;
    else if (datatype == MPI_SHORT) *extent = 2;
    else if (datatype == MPI_DOUBLE) *extent = 8;
    else return 1;
    return MPI_SUCCESS;
}

// The items of the type in memory, in order: all are ints.
static int ints_of(MPI_Datatype datatype) {
    int bytes = 0;
    MPI_Type_size(datatype, &bytes);
    return bytes / 4;
}

static int write_digits(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *state) {
    Calls *own = state;
    own->writes++;
    if (own->fail == 1) return 5;
    const int each = ints_of(datatype), copies = (int)((position + count + each - 1) / each);
    int packed = 0, *items = get_memory(sizeof(int) * (size_t)(each * copies));
    char text[16];
    MPI_Pack(user, copies, datatype, items, 4 * each * copies, &packed, MPI_COMM_SELF);
    for (MPI_Count i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%+011d", items[position + i]);
        memcpy((char *)file + 11 * i, text, 11);
    }
    free(items);
    return MPI_SUCCESS;
}

static int read_digits(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *state) {
    Calls *own = state;
    own->reads++;
    if (own->fail == 2) return 6;
    const int each = ints_of(datatype), copies = (int)((position + count + each - 1) / each);
    int packed = 0, *items = get_memory(sizeof(int) * (size_t)(each * copies));
    char text[16] = "";
    MPI_Pack(user, copies, datatype, items, 4 * each * copies, &packed, MPI_COMM_SELF);
    for (MPI_Count i = 0; i < count; i++) {
        memcpy(text, (char *)file + 11 * i, 11);
        items[position + i] = atoi(text);
    }
    packed = 0;
    MPI_Unpack(items, 4 * each * copies, &packed, user, copies, datatype, MPI_COMM_SELF);
    free(items);
    return MPI_SUCCESS;
}

static int write_small(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state) {
    return write_digits(user, datatype, count, file, position, state);
}

static int read_small(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state) {
    return read_digits(user, datatype, count, file, position, state);
}

static void digits(const char *name) {
    enum { COUNT = 50 };
    int mine[2 * COUNT], got[2 * COUNT];
    MPI_Datatype turn, gaps;
    MPI_Offset at = -1;
    calls = (Calls){0};
    fh = open_new("digits");
    MPI_Type_create_subarray(1, &size, (const int[]){1}, &rank, MPI_ORDER_C, MPI_INT, &turn);
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&turn);
    MPI_Type_commit(&gaps);
    OK(MPI_File_set_view(fh, 5, MPI_INT, turn, name, MPI_INFO_NULL));
    // The conversion functions are not called before there is something to convert.
    CHECK_EQ(calls.extents, 0);
    for (int i = 0; i < 2 * COUNT; i++) mine[i] = i % 2 ? -1 : 1000 * rank - 3 * i;
    OK(MPI_File_write_all(fh, mine, 1, gaps, &status));
    CHECK_COUNT(status, gaps, 1);
    CHECK_EQ(calls.writes, 1);
    CHECK(calls.reads == 0);
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, COUNT);
    OK(MPI_File_get_byte_offset(fh, 2, &at));
    CHECK_EQ(at, 5 + 11 * (2 * size + rank));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(size_outside("digits"), 5 + 11 * COUNT * size);
    for (int i = 0; i < COUNT; i++) {
        char text[12] = "";
        CHECK_EQ(read_outside("digits", 5 + 11 * (i * size + rank), text, 11), 11);
        CHECK_EQ(atoi(text), mine[2 * i]);
    }
    memset(got, 0x22, sizeof got);
    OK(MPI_File_read_at_all(fh, 0, got, 1, gaps, &status));
    CHECK_COUNT(status, gaps, 1);
    CHECK_EQ(calls.reads, 1);
    for (int i = 0; i < COUNT; i++) CHECK_EQ(got[2 * i], mine[2 * i]);
    CHECK_BYTES(&got[1], 4, 0x22);
    // The file ends: whole items are converted.
    int elements = -1;
    memset(got, 0x22, sizeof got);
    OK(MPI_File_read_at(fh, COUNT - 2, got, 5, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 2);
    OK(MPI_Get_elements(&status, MPI_INT, &elements));
    CHECK_EQ(elements, 2);
    CHECK_EQ(got[1], mine[2 * COUNT - 2]);
    CHECK_BYTES(&got[2], 4, 0x22);

    MPI_Aint extent = -1;
    MPI_Datatype etype, filetype;
    MPI_Offset disp = -1;
    char found[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_type_extent(fh, turn, &extent));
    CHECK_EQ(extent, 11 * size);
    OK(MPI_File_get_type_extent(fh, MPI_SHORT, &extent));
    CHECK_EQ(extent, 2);
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, found));
    CHECK(!strcmp(found, name));
    MPI_Type_free(&filetype);

    calls.fail = 1;
    CHECK_ERROR(MPI_File_write_at(fh, 0, mine, 1, MPI_INT, &status), MPI_ERR_CONVERSION, "returned 5");
    calls.fail = 2;
    CHECK_ERROR(MPI_File_read_at(fh, 0, got, 1, MPI_INT, &status), MPI_ERR_CONVERSION, name);
    calls.fail = 0;
    OK(MPI_File_read_at(fh, 0, got, 1, MPI_INT, &status));
    CHECK_EQ(got[0], mine[0]);
    // A type that the functions do not know.
    CHECK_ERROR(MPI_File_get_type_extent(fh, MPI_FLOAT, &extent), MPI_ERR_CONVERSION, "MPI_FLOAT");
    MPI_Type_free(&turn);
    MPI_Type_free(&gaps);
    close_file(&fh);
}

// Without conversion functions data is as in memory.
static void unconverted(void) {
    double mine = 1.5 + rank, got = 0;
    fh = open_new("plain");
    OK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &calls));
    OK(MPI_Register_datarep_c("plain_c", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_of, &calls));
    OK(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "plain", MPI_INFO_NULL));
    OK(MPI_File_write_at(fh, rank, &mine, 1, MPI_DOUBLE, &status));
    CHECK_COUNT(status, MPI_DOUBLE, 1);
    CHECK_EQ(read_outside("plain", 8 * rank, &got, 8), 8);
    CHECK(got == mine);
    got = 0;
    OK(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "plain_c", MPI_INFO_NULL));
    OK(MPI_File_read_at(fh, rank, &got, 1, MPI_DOUBLE, &status));
    CHECK(got == mine);
    close_file(&fh);
}

static void wrong(void) {
    char longest[MPI_MAX_DATAREP_STRING + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    static Calls failing = {.fail = 3}, unable = {.fail = 4};
    int value = 0;
    CHECK_ERROR(MPI_Register_datarep("digits", read_small, write_small, extent_of, &calls), MPI_ERR_DUP_DATAREP, "digits");
    CHECK_ERROR(MPI_Register_datarep("native", read_small, write_small, extent_of, &calls), MPI_ERR_DUP_DATAREP, "native");
    CHECK_ERROR(MPI_Register_datarep("external32", read_small, write_small, extent_of, &calls), MPI_ERR_DUP_DATAREP,
                "MPI_Register_datarep");
    CHECK_ERROR(MPI_Register_datarep(longest, read_small, write_small, extent_of, &calls), MPI_ERR_ARG, "127");
    CHECK_ERROR(MPI_Register_datarep("", read_small, write_small, extent_of, &calls), MPI_ERR_ARG, "MPI_Register_datarep");
    CHECK_ERROR(MPI_Register_datarep(NULL, read_small, write_small, extent_of, &calls), MPI_ERR_ARG, "datarep");
    CHECK_ERROR(MPI_Register_datarep("x", read_small, write_small, NULL, &calls), MPI_ERR_ARG, "dtype_file_extent_fn");
    OK(MPI_Register_datarep("failing", read_small, write_small, extent_of, &failing));
    OK(MPI_Register_datarep("unable", read_small, write_small, extent_of, &unable));
    fh = open_new("wrong");
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "failing", MPI_INFO_NULL));
    CHECK_ERROR(MPI_File_write(fh, &value, 1, MPI_INT, &status), MPI_ERR_CONVERSION, "returned 17");
    CHECK_ERROR(MPI_File_write_ordered(fh, &value, 1, MPI_INT, &status), MPI_ERR_CONVERSION, "MPI_INT");
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "unable", MPI_INFO_NULL));
    CHECK_ERROR(MPI_File_write(fh, &value, 1, MPI_INT, &status), MPI_ERR_VALUE_TOO_LARGE, "unable");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "x", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP, "\"x\"");
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    OK(MPI_Register_datarep("digits", read_small, write_small, extent_of, &calls));
    OK(MPI_Register_datarep_c("digits_c", read_digits, write_digits, extent_of, &calls));
    digits("digits");
    digits("digits_c");
    unconverted();
    wrong();
    return finish();
}
