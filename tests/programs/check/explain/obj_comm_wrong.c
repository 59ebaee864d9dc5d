// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-COMM: ranks 0,1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Finalize();
    return 0;
}
