// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-GROUP: ranks 0,1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Finalize();
    return 0;
}
