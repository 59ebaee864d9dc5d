// A rank forks a process that does nothing but keep what it inherited, and is killed then.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == size - 1) {
        if (fork() == 0)
            for (;;) pause();
        printf("rank %d forked\n", rank);
        fflush(stdout);
        sleep(1);
        raise(SIGKILL);
    }
    MPI_Recv(&sum, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 1;
}
