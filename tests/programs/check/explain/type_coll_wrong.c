// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-TYPE-COLL: rank 1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double value = 1;
    MPI_Bcast(&value, 1, rank == 0 ? MPI_DOUBLE : MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
