// ranks: 1 2 3
// expect-exit: 6
// expect-stderr: called MPI_Abort with code 6
// A parent ends the job: the children that are connected to it, and compute without end, end with
// it.
#include "family.h"

int main(int argc, char **argv) {
    MPI_Comm children;
    start(&argc, &argv);
    if (is_child()) {
        MPI_Barrier(parent);
        for (volatile unsigned long i = 0;; i++) {
        }
    }
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    MPI_Barrier(children);
    if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 6);
    for (volatile unsigned long i = 0;; i++) {
    }
}
