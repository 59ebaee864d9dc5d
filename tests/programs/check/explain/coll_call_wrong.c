// ranks: 2
// launch: --check=error
// expect-exit: nonzero
// expect-stderr: OX-COLL-CALL: rank 1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int value = rank, result = 0;
    if (rank == 0) MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 1) MPI_Allgather(&value, 0, MPI_INT, &result, 0, MPI_INT, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
