// ranks: 1 2 3
// expect-exit: 5
// expect-stderr: in a spawned job, rank 1
// expect-stderr: called MPI_Abort with code 5
// A child ends the job: its connected parents, which wait for it, are stopped.
#include "family.h"

int main(int argc, char **argv) {
    int value;
    MPI_Comm children;
    start(&argc, &argv);
    if (is_child()) {
        if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
        return finish();
    }
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    MPI_Recv(&value, 1, MPI_INT, 0, 1, children, MPI_STATUS_IGNORE);
    return finish();
}
