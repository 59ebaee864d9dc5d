// lines N [TAIL]: each rank prints N lines of many lengths; with TAIL, the last one without an end of line.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, count = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; i++) {
        printf("<%d %d ", rank, i);
        for (int k = 0; k < (i * 7 + rank) % 150; k++) putchar('a' + (i + k) % 26);
        printf(">\n");
        if (i % 97 == 0) fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
