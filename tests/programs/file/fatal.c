// ranks: 2
// expect-exit: nonzero
// expect-stderr: MPI_File_write_at on file "data" failed: MPI_ERR_READ_ONLY
// The message of a fatal file error names the file and the call.
#include "files.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_File fh = open_new("data");
    close_file(&fh);
    OK(MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL));
    MPI_File_write_at(fh, 0, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
    return 0;
}
