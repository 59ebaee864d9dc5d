// ranks: 1 2
// Errors of files go to the file's handler, those without a file to the one of MPI_FILE_NULL.
#include "files.h"

static int called;
static MPI_File seen;
static int seen_class;

static void on_error(MPI_File *file, int *code, ...) {
    called++;
    seen = *file;
    seen_class = check_class(*code);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Errhandler handler, found;
    MPI_File fh, bad = MPI_FILE_NULL;
    // By default, errors of files are returned, and those of communicators end the job.
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &bad), MPI_ERR_NO_SUCH_FILE);
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
    CHECK(found == MPI_ERRORS_RETURN);

    fh = open_new("file");
    OK(MPI_File_get_errhandler(fh, &found));
    CHECK(found == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(on_error, &handler));
    OK(MPI_File_set_errhandler(fh, handler));
    OK(MPI_File_get_errhandler(fh, &found));
    CHECK(found == handler);
    OK(MPI_Errhandler_free(&found));
    CHECK_CLASS(MPI_File_read_at(fh, -1, NULL, 0, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    CHECK_EQ(called, 1);
    CHECK(seen == fh);
    CHECK_EQ(seen_class, MPI_ERR_ARG);
    OK(MPI_File_call_errhandler(fh, MPI_ERR_QUOTA));
    CHECK_EQ(called, 2);
    CHECK_EQ(seen_class, MPI_ERR_QUOTA);
    // Not this file's business.
    CHECK_CLASS(MPI_File_delete("none", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    CHECK_EQ(called, 2);

    OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    CHECK_CLASS(MPI_File_delete("none", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    CHECK_EQ(called, 3);
    CHECK(seen == MPI_FILE_NULL);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &bad), MPI_ERR_NO_SUCH_FILE);
    CHECK_EQ(called, 4);
    CHECK_CLASS(MPI_File_sync(MPI_FILE_NULL), MPI_ERR_FILE);
    CHECK_EQ(called, 5);
    // A new file has it from there.
    MPI_File other = open_new("other");
    CHECK_CLASS(MPI_File_seek(other, -5, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK_EQ(called, 6);
    CHECK(seen == other);
    close_file(&other);
    OK(MPI_Errhandler_free(&handler));
    CHECK_CLASS(MPI_File_seek(fh, -5, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK_EQ(called, 7);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    close_file(&fh);
    return finish();
}
