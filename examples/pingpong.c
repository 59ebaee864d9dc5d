// How fast is a message? Rank 0 and rank 1 throw a ball of growing size to each other.
//
//   mpicc -O2 pingpong.c -o pingpong
//   mpirun -n 2 ./pingpong

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 4 << 20 };

// Seconds for one way, on average over so many round trips.
static double one_way(char *ball, int bytes, int rounds, int rank) {
    int other = 1 - rank;
    double begin = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Send(ball, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(ball, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(ball, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(ball, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - begin) / (2.0 * rounds);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "pingpong needs two processes: mpirun -n 2 ./pingpong\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    if (rank < 2) {
        char *ball = calloc(LARGEST, 1);
        if (!ball) MPI_Abort(MPI_COMM_WORLD, 1);
        if (rank == 0) printf("%10s %12s %10s\n", "bytes", "one way, us", "MB/s");
        for (int bytes = 0; bytes <= LARGEST; bytes = bytes ? bytes * 4 : 1) {
            int rounds = bytes <= 4096 ? 20000 : 200;
            // The first rounds touch the memory and warm the caches; they do not count.
            one_way(ball, bytes, rounds / 10, rank);
            double seconds = one_way(ball, bytes, rounds, rank);
            if (rank == 0) printf("%10d %12.2f %10.1f\n", bytes, seconds * 1e6, bytes / seconds / 1e6);
        }
        free(ball);
    }
    // More than two processes: the others wait here.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
