// ranks: 2 4
// launch: --check=strict,error
// expect-exit: 122
// expect-stderr: OX-FILE-CONFLICT: rank 0: bytes 0 to 4 of file "words", which this rank has written, were also read by rank 1
// What another rank has written is read behind a barrier only: that works on one host, but not on every file system.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = rank;
    MPI_File fh;
    MPI_File_open(MPI_COMM_WORLD, "words", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh);
    MPI_File_write_at(fh, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(fh, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_File_read_at(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&fh);
    return finish();
}
