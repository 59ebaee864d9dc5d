// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-COLL-ORDER: rank 1: called MPI_Gather (collective call 1 on
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, value = 5, all[2];
    MPI_Comm other;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (rank == 0) {
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, other);
    } else {
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, other);
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
