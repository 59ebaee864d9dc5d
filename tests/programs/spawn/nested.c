// ranks: 1 2
// expect-stdout: the youngest is done
// Children have children, which have children: each generation knows its parents and its children,
// and all end.
#include "family.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    int generation = argc > 1 ? atoi(argv[1]) : 0;
    CHECK_EQ(is_child(), generation > 0);
    MPI_Comm children = MPI_COMM_NULL;
    if (generation < 3) {
        char next[16];
        snprintf(next, sizeof next, "%d", generation + 1);
        OK(spawn_self(argv, next, 1 + generation % 2, 0, MPI_COMM_WORLD, &children));
        greet(children);
    } else if (rank == 0) {
        printf("the youngest is done\n");
    }
    if (parent != MPI_COMM_NULL) {
        greet(parent);
        OK(MPI_Comm_disconnect(&parent));
    }
    if (children != MPI_COMM_NULL) OK(MPI_Comm_disconnect(&children));
    return finish();
}
