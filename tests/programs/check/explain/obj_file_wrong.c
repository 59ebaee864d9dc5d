// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-FILE: ranks 0,1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Finalize();
    return 0;
}
