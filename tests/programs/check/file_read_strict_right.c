// ranks: 1 2 4
// launch: --check=strict,error
// What another rank has written is read after a synchronisation, and what a rank has written itself at once.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = rank;
    MPI_File fh;
    MPI_File_open(MPI_COMM_WORLD, "words", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh);
    MPI_File_write_at(fh, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(fh, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(fh);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(fh);
    if (rank == 1) MPI_File_read_at(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&fh);
    return finish();
}
