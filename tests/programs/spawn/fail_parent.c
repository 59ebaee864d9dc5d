// ranks: 1 2
// sleeps: a job sleeps longer than the other
// expect-exit: 4
// expect-stdout: child 1 of 2 is done
// expect-stderr: exited with status 4
// The parents fail after their children have disconnected: those end well.
#include "family.h"

int main(int argc, char **argv) {
    MPI_Comm children;
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        OK(MPI_Comm_disconnect(&parent));
        sleep_ms(1500);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        printf("child %d of %d is done\n", rank, size);
        return finish();
    }
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    OK(MPI_Comm_disconnect(&children));
    sleep_ms(200);
    if (rank == 0) exit(4);
    sleep_ms(60000);
}
