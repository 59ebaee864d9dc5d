// ranks: 4
// launch: --pretend-hosts 2
// timeout: 30
// expect-exit: nonzero
// expect-stderr: rank 3
// A rank is killed while it holds the lock of a rank on another host, and while others access its memory and wait for the
// lock. Nobody hangs: the job ends and names it.
#include "../rma/windows.h"
#include <signal.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    Window w = window(ALLOCATED, 1 << 20, 1);
    char *bytes = get_memory(1 << 20);
    if (rank == 3) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 3) {
        usleep(300000);
        raise(SIGKILL);
    }
    if (rank == 1) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
    if (rank == 2) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
    MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, w.win);
    for (;;) {
        MPI_Put(bytes, 1 << 20, MPI_BYTE, 3, 0, 1 << 20, MPI_BYTE, w.win);
        MPI_Win_flush(3, w.win);
    }
}
