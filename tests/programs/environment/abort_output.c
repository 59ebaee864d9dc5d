// ranks: 1 2
// expect-exit: 5
// expect-stdout: printed before the end
// What a program has printed before MPI_Abort is seen, though its buffer was not full.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    setvbuf(stdout, NULL, _IOFBF, 65536);
    if (rank == 0) {
        printf("printed before the end\n");
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
