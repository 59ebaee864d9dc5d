// ranks: 1 2
// sleeps: a job sleeps longer than the other
// expect-stdout: the parents are done
// expect-stdout: child 0 of 2 is done
// expect-stdout: child 1 of 2 is done
// Children that have disconnected outlive their parents; mpirun waits for them.
#include "family.h"

int main(int argc, char **argv) {
    MPI_Comm children;
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        OK(MPI_Comm_disconnect(&parent));
        sleep_ms(1000);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        printf("child %d of %d is done\n", rank, size);
        return finish();
    }
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    OK(MPI_Comm_disconnect(&children));
    if (rank == 0) printf("the parents are done\n");
    return finish();
}
