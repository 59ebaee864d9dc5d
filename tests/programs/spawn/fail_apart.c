// ranks: 1 2
// sleeps: a job sleeps longer than the other
// expect-exit: 3
// expect-stdout: the parents are done
// expect-stderr: exited with status 3
// A child fails after it has disconnected: mpirun reports it, also by its status, but the parents
// continue.
#include "family.h"

int main(int argc, char **argv) {
    MPI_Comm children;
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        OK(MPI_Comm_disconnect(&parent));
        if (rank == 0) exit(3);
        sleep_ms(60000);
    }
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    OK(MPI_Comm_disconnect(&children));
    sleep_ms(1500);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) printf("the parents are done\n");
    return finish();
}
