// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-FILE-SPLIT: ranks 0,1: MPI_File_write_at_all_end on
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, other = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_all_begin(file, rank * (int)sizeof rank, &rank, 1, MPI_INT);
    other = rank;
    MPI_File_write_at_all_end(file, &other, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    return MPI_Finalize() != MPI_SUCCESS || other != rank;
}
