// ranks: 1 2
// expect-exit: 139
// expect-stderr: in a spawned job, rank 0
// expect-stderr: signal 11
// A grandchild crashes while its parents and their parents are connected to it: all end, and the
// reason is printed once.
#include "family.h"
#include <signal.h>

int main(int argc, char **argv) {
    int value;
    MPI_Comm children;
    start(&argc, &argv);
    int generation = argc > 1 ? atoi(argv[1]) : 0;
    CHECK_EQ(is_child(), generation > 0);
    if (generation == 2) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    OK(spawn_self(argv, generation == 0 ? "1" : "2", 1, 0, MPI_COMM_WORLD, &children));
    MPI_Recv(&value, 1, MPI_INT, 0, 1, children, MPI_STATUS_IGNORE);
    return finish();
}
