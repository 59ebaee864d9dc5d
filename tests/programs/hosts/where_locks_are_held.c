// ranks: 3
// sleeps: it waits for the time limit of mpirun
// launch: --pretend-hosts 3 --timeout 4
// expect-exit: 124
// expect-stderr: in MPI_Win_lock_all at where_locks_are_held.c:18 for the lock of rank 0, which rank 1 holds, on a window
// A rank asks for the locks of all ranks, of which a rank of a third host holds one for ever.
#include "../check.h"

int main(int argc, char **argv) {
    int *base, value = 0;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "a window");
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 2) MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Win_lock_all(0, win);
    return finish();
}
