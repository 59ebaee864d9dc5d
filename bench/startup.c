/* Only MPI_Init and MPI_Finalize: bench/run times the whole mpirun. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
