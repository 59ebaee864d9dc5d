// Pi as the area under 4 / (1 + x*x) between 0 and 1: the processes share the strips, rank 0 adds up.
//
//   mpicc -O2 pi.c -o pi
//   mpirun -n 2 ./pi              # 100 million strips
//   mpirun -n 2 ./pi 1000000      # as many as you say

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// Every process takes each size-th strip, starting at its rank: equal work, no talking.
static double area_of_my_strips(long strips, int rank, int size) {
    double width = 1.0 / (double)strips;
    double sum = 0.0;
    for (long i = rank; i < strips; i += size) {
        double x = ((double)i + 0.5) * width;
        sum += 4.0 / (1.0 + x * x);
    }
    return sum * width;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    long strips = argc > 1 ? atol(argv[1]) : 100000000;
    if (strips < 1) {
        if (rank == 0) fprintf(stderr, "usage: pi [number of strips]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    // All start together, so that the time is the time of the work.
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    double area = area_of_my_strips(strips, rank, size);

    if (rank != 0) {
        MPI_Send(&area, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    } else {
        // In the order in which they are ready; the status would say which rank it was.
        for (int i = 1; i < size; i++) {
            double part;
            MPI_Recv(&part, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            area += part;
        }
        printf("pi is about %.12f; %d processes took %.3f s\n", area, size, MPI_Wtime() - begin);
    }
    MPI_Finalize();
    return 0;
}
