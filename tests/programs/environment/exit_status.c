// ranks: 1 2 3
// expect-exit: 23
// A rank that ends with a failure after MPI_Finalize gives the job its status.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Finalize();
    return rank == size - 1 ? 23 : 0;
}
