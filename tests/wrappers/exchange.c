// Two ranks exchange a number. Also built as a library (NO_MAIN) and the program for it (ONLY_MAIN).
#include <mpi.h>
#include <stdio.h>

int exchange(int rank);

#ifndef ONLY_MAIN
int exchange(int rank) {
    int mine = 100 + rank, theirs = -1;
    if (rank == 0) {
        MPI_Send(&mine, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Recv(&theirs, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&theirs, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&mine, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
    return theirs;
}
#endif

#ifndef NO_MAIN
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d got %d\n", rank, exchange(rank));
    MPI_Finalize();
    return 0;
}
#endif
