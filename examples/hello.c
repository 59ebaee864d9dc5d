// The smallest MPI program: each process prints its rank.
//
//   mpicc hello.c -o hello
//   mpirun -n 4 ./hello

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    // Before anything else: join the other processes that mpirun started.
    MPI_Init(&argc, &argv);

    // MPI_COMM_WORLD is the group of all of them. In it, each has a number, its rank.
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    char host[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Get_processor_name(host, &length);

    // The processes run at the same time, so these lines come in any order.
    printf("Hello from rank %d of %d on %s\n", rank, size, host);

    // After everything else: no MPI call may follow.
    MPI_Finalize();
    return 0;
}
