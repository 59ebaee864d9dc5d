// ranks: 1 2
// expect-stdout: parent 0 is done
// expect-stdout: child 1 is done
// no-check: a communicator is left at the end
// No process disconnects: MPI_Finalize waits for all connected processes, and all end with status
// 0.
#include "family.h"

int main(int argc, char **argv) {
    MPI_Comm children;
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        greet(parent);
        if (rank == 1) sleep_ms(700);
    } else {
        OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
        greet(children);
    }
    MPI_Finalize();
    printf("%s %d is done\n", parent == MPI_COMM_NULL ? "parent" : "child", rank);
    return 0;
}
