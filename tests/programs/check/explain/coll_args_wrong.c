// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-COLL-ARGS: rank 1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int period = rank;
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &ring);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
