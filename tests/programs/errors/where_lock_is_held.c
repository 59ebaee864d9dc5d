// ranks: 2
// sleeps: it waits for the time limit of mpirun
// launch: --timeout 3
// env: OXMPI_DEADLOCK=off
// expect-exit: 124
// expect-stderr: rank 1 in MPI_Win_lock at where_lock_is_held.c:19 for the lock of rank 0, which rank 0 holds, on a window
// A rank waits for a lock that will never be free; mpirun says who holds it.
#include "../check.h"

int main(int argc, char **argv) {
    int *base, value = 0;
    MPI_Win win;
    start(&argc, &argv);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "a window");
    if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    return finish();
}
