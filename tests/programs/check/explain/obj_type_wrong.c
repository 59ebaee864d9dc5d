// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-TYPE: ranks 0,1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Datatype row;
    MPI_Type_contiguous(10, MPI_INT, &row);
    MPI_Type_commit(&row);
    MPI_Finalize();
    return 0;
}
