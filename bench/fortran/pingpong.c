/* The same as pingpong.F90, in C. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    enum { ROUNDS = 25, TURNS = 20000 };
    double best = 1e9, x = 1, y;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int k = 0; k < ROUNDS; k++) {
        double t = MPI_Wtime();
        for (int i = 0; i < TURNS; i++) {
            if (rank == 0) {
                MPI_Send(&x, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(&y, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(&y, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(&x, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
            }
        }
        t = (MPI_Wtime() - t) / (2 * TURNS);
        if (t < best)
            best = t;
    }
    if (rank == 0)
        printf("%9.4f\n", best * 1e6);
    MPI_Finalize();
    return 0;
}
