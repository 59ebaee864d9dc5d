// ranks: 2
// launch: --check=error
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int value = 5, all[2];
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, other);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
