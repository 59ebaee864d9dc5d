// ranks: 4
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// A member of a window dies with an exclusive lock: the living reach each other's memory, the lock becomes free, fences
// fail, and the window can be freed.
#include "ft.h"

enum { DEAD = 3, WORDS = 64 };

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Win win;
    MPI_Group group;
    int *memory, value = rank + 10, got = -1, n = -1;
    OK(MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    memset(memory, 0, WORDS * sizeof(int));
    meet_at(DEAD);
    if (rank == DEAD) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, 0, DEAD, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        die();
    }
    await_failures(MPI_COMM_WORLD, 1);
    OK(MPIX_Win_get_failed(win, &group));
    MPI_Group_size(group, &n);
    CHECK_EQ(n, 1);
    OK(MPI_Group_free(&group));
    // The first that meets the lock of the dead hears of it; then it is free.
    if (rank == 1) {
        FAILS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), PROC_FAILED);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Get(&got, 1, MPI_INT, 0, DEAD, 1, MPI_INT, win));
        OK(MPI_Win_flush(0, win));
        CHECK_EQ(got, DEAD + 10);
        OK(MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
        OK(MPI_Win_unlock(0, win));
        OK(MPI_Send(&value, 1, MPI_INT, 2, 1, MPI_COMM_WORLD));
    }
    if (rank == 2) {
        OK(MPI_Recv(&got, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 3; i++) {
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Accumulate(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win));
            OK(MPI_Win_unlock(0, win));
        }
        OK(MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    }
    if (rank == 0) {
        OK(MPI_Recv(&got, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        CHECK_EQ(memory[1], 11 + 3 * 12);
        OK(MPI_Win_unlock(0, win));
    }
    FAILS(MPI_Win_fence(0, win), PROC_FAILED);
    OK(MPI_Win_free(&win));
    return finish();
}
