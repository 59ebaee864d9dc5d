// ranks: 2
// launch: --check=error
// expect-exit: nonzero
// expect-stderr: OX-COLL-COUNT: rank 1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int values[8] = {0};
    MPI_Bcast(values, rank == 0 ? 4 : 8, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
