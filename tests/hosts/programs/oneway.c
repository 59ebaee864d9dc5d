// oneway FROM: rank FROM sends to each rank, which only receive: a first message, a synchronous one, and a put. Nobody
// else has a reason to connect. Says how long the first message of each took.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, from = argc > 1 ? atoi(argv[1]) : 0, number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != from) {
        MPI_Recv(&number, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number != rank) MPI_Abort(MPI_COMM_WORLD, 1);
    } else {
        for (int to = 0; to < size; to++) {
            if (to == from) continue;
            double begun = MPI_Wtime();
            MPI_Send(&to, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
            MPI_Ssend(&to, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
            double took = MPI_Wtime() - begun;
            printf("rank %d heard rank %d %s\n", to, from, took < 6 ? "soon" : "late");
        }
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
