// ranks: 1 2 3
// Files that are accessed sequentially: only the shared file pointer, also of a pipe.
#include "files.h"
#include <sys/wait.h>

static MPI_File fh;
static MPI_Status status;

static void forbidden(void) {
    int value = 0;
    MPI_Offset at = -1;
    MPI_Request request;
    CHECK_ERROR(MPI_File_write_at(fh, 0, &value, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION, "SEQUENTIAL");
    CHECK_ERROR(MPI_File_write(fh, &value, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write");
    CHECK_ERROR(MPI_File_write_all(fh, &value, 1, MPI_INT, &status), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_write_all");
    CHECK_ERROR(MPI_File_iwrite(fh, &value, 1, MPI_INT, &request), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_iwrite");
    CHECK_ERROR(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_seek");
    CHECK_ERROR(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_seek_shared");
    CHECK_ERROR(MPI_File_get_position(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_get_position");
    CHECK_ERROR(MPI_File_get_position_shared(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_get_position_shared");
    CHECK_ERROR(MPI_File_set_size(fh, 0), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_set_size");
    CHECK_ERROR(MPI_File_preallocate(fh, 10), MPI_ERR_UNSUPPORTED_OPERATION, "MPI_File_preallocate");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION,
                "MPI_DISPLACEMENT_CURRENT");
}

static void plain(void) {
    int value = rank, got = -1;
    if (rank == 0) unlink("plain");
    OK(MPI_File_open(MPI_COMM_WORLD, "plain", MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    forbidden();
    OK(MPI_File_write_ordered(fh, "0123456789", 3, MPI_CHAR, &status));
    CHECK_COUNT(status, MPI_CHAR, 3);
    // From here on ints.
    MPI_Datatype gaps;
    MPI_Type_create_resized(MPI_INT, 0, 8, &gaps);
    MPI_Type_commit(&gaps);
    CHECK_ERROR(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, gaps, "native", MPI_INFO_NULL), MPI_ERR_TYPE, "gaps");
    MPI_Type_free(&gaps);
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Offset disp = -1;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK_EQ(disp, 3 * size);
    OK(MPI_File_write_ordered(fh, &value, 1, MPI_INT, &status));
    OK(MPI_File_write_shared(fh, &value, 1, MPI_INT, &status));
    close_file(&fh);
    CHECK_EQ(size_outside("plain"), 3 * size + 8 * size);
    CHECK_EQ(read_outside("plain", 3 * size + 4 * rank, &got, 4), 4);
    CHECK_EQ(got, rank);

    OK(MPI_File_open(MPI_COMM_WORLD, "plain", MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    char text[4] = "";
    OK(MPI_File_read_ordered(fh, text, 3, MPI_CHAR, &status));
    CHECK(!strcmp(text, "012"));
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_ordered(fh, &got, 1, MPI_INT, &status));
    CHECK_EQ(got, rank);
    close_file(&fh);
}

// A pipe: reading waits until all that was asked for has come, or the writer is gone.
static void pipes(void) {
    char name[32], got[100000];
    snprintf(name, sizeof name, "pipe%d", rank);
    CHECK_EQ(mkfifo(name, 0666), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(name, O_WRONLY);
        char block[1000];
        for (int i = 0; i < 80; i++) {
            memset(block, 'a' + i % 26, sizeof block);
            if (write(fd, block, sizeof block) != sizeof block) _exit(1);
        }
        _exit(0);
    }
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    OK(MPI_File_read_shared(fh, got, 50000, MPI_CHAR, &status));
    CHECK_COUNT(status, MPI_CHAR, 50000);
    for (int i = 0; i < 50; i++) CHECK_BYTES(got + 1000 * i, 1000, 'a' + i % 26);
    OK(MPI_File_read_ordered(fh, got, 100000, MPI_CHAR, &status));
    CHECK_COUNT(status, MPI_CHAR, 30000);
    CHECK_EQ(got[0], 'a' + 50 % 26);
    OK(MPI_File_read_shared(fh, got, 10, MPI_CHAR, &status));
    CHECK_COUNT(status, MPI_CHAR, 0);
    close_file(&fh);
    int end = -1;
    CHECK_EQ(waitpid(child, &end, 0), child);
    CHECK_EQ(end, 0);
    child = fork();
    if (child == 0) {
        sleep_ms(20);
        int fd = open(name, O_WRONLY);
        _exit(fd < 0);
    }
    CHECK_ERROR(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_UNSUPPORTED_OPERATION,
                "MPI_MODE_SEQUENTIAL");
    CHECK_EQ(waitpid(child, &end, 0), child);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    plain();
    pipes();
    return finish();
}
