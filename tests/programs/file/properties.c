// ranks: 1 2 5
// no-check: the ranks give different arguments, which are errors
// Sizes, space, hints, and that sync brings nothing out of order.
#include "files.h"

static MPI_File fh;

static long long size_now(void) {
    MPI_Offset bytes = -1;
    OK(MPI_File_get_size(fh, &bytes));
    MPI_Barrier(MPI_COMM_WORLD);
    return bytes;
}

static void sizes(void) {
    MPI_Offset at = -1;
    int value = -1;
    MPI_Status status;
    fh = open_new("sizes");
    CHECK_EQ(size_now(), 0);
    OK(MPI_File_seek(fh, 50, MPI_SEEK_SET));
    OK(MPI_File_set_size(fh, 1000));
    CHECK_EQ(size_now(), 1000);
    CHECK_EQ(size_outside("sizes"), 1000);
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, 50);
    OK(MPI_File_read_at(fh, 996, &value, 1, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 1);
    CHECK_EQ(value, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_size(fh, 10));
    CHECK_EQ(size_now(), 10);
    OK(MPI_File_read_at(fh, 8, &value, 1, MPI_INT, &status));
    CHECK_COUNT(status, MPI_BYTE, 2);
    MPI_Barrier(MPI_COMM_WORLD);

    OK(MPI_File_preallocate(fh, 100000));
    CHECK_EQ(size_now(), 100000);
    struct stat about;
    CHECK_EQ(stat("sizes", &about), 0);
    CHECK(about.st_blocks * 512LL >= 100000);
    OK(MPI_File_preallocate(fh, 5));
    CHECK_EQ(size_now(), 100000);
    OK(MPI_File_preallocate(fh, 0));
    OK(MPI_File_set_size(fh, (MPI_Offset)5 << 30));
    CHECK_EQ(size_now(), 5LL << 30);
    OK(MPI_File_set_size(fh, 0));
    CHECK_EQ(size_now(), 0);
    CHECK_ERROR(MPI_File_set_size(fh, -1), MPI_ERR_ARG, "-1");
    CHECK_ERROR(MPI_File_preallocate(fh, -9), MPI_ERR_ARG, "MPI_File_preallocate");
    if (size > 1) {
        CHECK_ERROR(MPI_File_set_size(fh, rank), MPI_ERR_NOT_SAME, "size");
        CHECK_ERROR(MPI_File_set_size(fh, rank ? 5 : -1), MPI_ERR_ARG, rank ? "rank 0" : "-1");
    }
    CHECK_EQ(size_now(), 0);
    OK(MPI_File_write_at(fh, 4 * rank, &rank, 1, MPI_INT, &status));
    OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(fh));
    const int next = (rank + 1) % size;
    OK(MPI_File_read_at(fh, 4 * next, &value, 1, MPI_INT, &status));
    CHECK_EQ(value, next);
    CHECK_ERROR(MPI_File_get_size(fh, NULL), MPI_ERR_ARG, "size");
    close_file(&fh);
}

static void expect(MPI_Info info, const char *key, const char *value) {
    char got[256] = "";
    int flag = 0, length = sizeof got;
    OK(MPI_Info_get_string(info, key, &length, got, &flag));
    if (!value) {
        if (flag) CHECK_FAIL("%s is %s", key, got);
    } else if (!flag || strcmp(got, value))
        CHECK_FAIL("%s is \"%s\", not \"%s\"", key, got, value);
}

static void hints(void) {
    MPI_Info given, used;
    OK(MPI_Info_create(&given));
    OK(MPI_Info_set(given, "cb_buffer_size", "65536"));
    OK(MPI_Info_set(given, "cb_nodes", "many"));
    OK(MPI_Info_set(given, "collective_buffering", "true"));
    OK(MPI_Info_set(given, "access_style", "write_once,sequential"));
    OK(MPI_Info_set(given, "file_perm", "0600"));
    OK(MPI_Info_set(given, "filename", "another"));
    OK(MPI_Info_set(given, "colour", "blue"));
    OK(MPI_File_open(MPI_COMM_WORLD, "hints", MPI_MODE_RDWR | MPI_MODE_CREATE, given, &fh));
    OK(MPI_Info_free(&given));
    struct stat about;
    CHECK_EQ(stat("hints", &about), 0);
    CHECK_EQ(about.st_mode & 0777, 0600);
    OK(MPI_File_get_info(fh, &used));
    expect(used, "cb_buffer_size", "65536");
    char all[12];
    snprintf(all, sizeof all, "%d", size);
    expect(used, "cb_nodes", all);
    expect(used, "romio_cb_write", "enable");
    expect(used, "romio_cb_read", "enable");
    expect(used, "collective_buffering", "true");
    expect(used, "access_style", "write_once,sequential");
    expect(used, "file_perm", "0600");
    expect(used, "filename", "hints");
    expect(used, "colour", NULL);
    OK(MPI_Info_free(&used));

    OK(MPI_Info_create(&given));
    OK(MPI_Info_set(given, "striping_unit", "4096"));
    OK(MPI_Info_set(given, "file_perm", "0777"));
    OK(MPI_File_set_info(fh, given));
    // In whole pages.
    OK(MPI_Info_set(given, "cb_buffer_size", "1024"));
    OK(MPI_Info_set(given, "cb_nodes", "1"));
    OK(MPI_Info_set(given, "romio_cb_write", "disable"));
    OK(MPI_Info_set(given, "romio_cb_read", "perhaps"));
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", given));
    OK(MPI_Info_free(&given));
    OK(MPI_File_set_info(fh, MPI_INFO_NULL));
    OK(MPI_File_get_info(fh, &used));
    expect(used, "cb_buffer_size", "4096");
    expect(used, "cb_nodes", "1");
    expect(used, "romio_cb_write", "disable");
    expect(used, "romio_cb_read", "enable");
    expect(used, "striping_unit", "4096");
    expect(used, "collective_buffering", "true");
    expect(used, "file_perm", "0600");
    OK(MPI_Info_free(&used));
    CHECK_ERROR(MPI_File_get_info(fh, NULL), MPI_ERR_ARG, "info_used");
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    sizes();
    hints();
    return finish();
}
