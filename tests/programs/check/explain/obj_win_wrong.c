// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-WIN: ranks 0,1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int value = 0;
    MPI_Win win;
    MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Finalize();
    return 0;
}
