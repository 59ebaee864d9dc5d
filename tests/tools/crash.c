// Rank 0 writes to an address that is not its own, while rank 1 waits for a message from it.
#include <mpi.h>

static void write_to(volatile int *address)
{
    *address = 1;
}

static void wait_for_rank_0(void)
{
    int number = 0;
    MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, number;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Recv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        write_to((int *)8);
    } else
        wait_for_rank_0();
    MPI_Finalize();
    return 0;
}
