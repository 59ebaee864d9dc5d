// Exchanges messages with all, then opens a pipe and waits for it with select: its descriptors must be below 1024.
#include <mpi.h>
#include <stdio.h>
#include <sys/select.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size, all[1024], one = 1, ends[2];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    if (pipe(ends) || ends[1] >= FD_SETSIZE || write(ends[1], "x", 1) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval limit = {2, 0};
    if (select(ends[0] + 1, &set, NULL, NULL, &limit) == 1) printf("select works\n");
    MPI_Finalize();
    return 0;
}
