// ranks: 2
// launch: -l
// expect-stdout: [0] [1] child 1
// expect-stdout: [1] parent 1
// With tags, the lines of a spawned job have those of the rank that spawned it and their own.
#include "family.h"

int main(int argc, char **argv) {
    MPI_Comm children;
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        printf("child %d\n", rank);
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    printf("parent %d\n", rank);
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    OK(MPI_Comm_disconnect(&children));
    return finish();
}
