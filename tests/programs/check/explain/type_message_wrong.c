// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-TYPE-MESSAGE: rank 1
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int numbers[4] = {1, 2, 3, 4};
    float values[4];
    if (rank == 0) MPI_Send(numbers, 4, MPI_INT, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(values, 4, MPI_FLOAT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
