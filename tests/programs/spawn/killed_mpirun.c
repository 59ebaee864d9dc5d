// ranks: 1 2
// timeout: 40
// one-host: on several hosts the parent process of a rank is an agent; tests/hosts kills the mpirun of such jobs
// expect-exit: 137
// expect-stdout: the parents are done
// expect-stderr: mpirun
// The mpirun of a spawned job is killed: its ranks end, and the parents get an error in every call
// in which they wait for them.
#include "family.h"
#include <signal.h>

int main(int argc, char **argv) {
    MPI_Comm children, merged;
    int byte = 0;
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        MPI_Intercomm_merge(parent, 1, &merged);
        MPI_Barrier(merged);
        if (rank == 0) {
            sleep_ms(200);
            kill(getppid(), SIGKILL);
        }
        for (;;) pause();
    }
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    OK(MPI_Intercomm_merge(children, 0, &merged));
    MPI_Comm_set_errhandler(children, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
    OK(MPI_Barrier(merged));
    CHECK_CLASS(MPI_Recv(&byte, 1, MPI_INT, 1, 0, children, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    CHECK_CLASS(MPI_Barrier(merged), MPI_ERR_PROC_ABORTED);
    CHECK_CLASS(MPI_Probe(0, 0, children, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) printf("the parents are done\n");
    return finish();
}
