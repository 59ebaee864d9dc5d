// ranks: 4 7
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// After a death some members free the window, which waits for nobody then, while others still access their memory: that succeeds
// or raises PROC_FAILED, and nothing else.
#include "ft.h"

enum { DEAD = 1 };

#define WORKS_OR_FAILS(call)                                                                 \
    do {                                                                                     \
        int code_ = (call);                                                                  \
        if (code_ != MPI_SUCCESS && code_ != PROC_FAILED)                                    \
            CHECK_FAIL("%s gave %d: %s", #call, code_, check_text(code_));                   \
    } while (0)

static void access_memory_of(int target, MPI_Win win) {
    int value = 7, old = 0;
    int code = MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    if (code == PROC_FAILED) return;
    OK(code);
    WORKS_OR_FAILS(MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win));
    WORKS_OR_FAILS(MPI_Win_flush(target, win));
    WORKS_OR_FAILS(MPI_Fetch_and_op(&value, &old, MPI_INT, target, 0, MPI_SUM, win));
    WORKS_OR_FAILS(MPI_Win_unlock(target, win));
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Win win;
    int *memory, last = size - 1;
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    meet_at(DEAD);
    if (rank == DEAD) die();
    await_failures(MPI_COMM_WORLD, 1);
    // First one of the last host goes, then all but the first rank.
    if (rank == last) {
        OK(MPI_Win_free(&win));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD));
    }
    if (rank == 0) {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        access_memory_of(last, win);
        for (int r = 2; r < last; r++) OK(MPI_Send(NULL, 0, MPI_BYTE, r, 1, MPI_COMM_WORLD));
        for (int r = 2; r < last; r++) OK(MPI_Recv(NULL, 0, MPI_BYTE, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int r = 2; r <= last; r++) access_memory_of(r, win);
        OK(MPI_Win_free(&win));
    }
    if (rank > 0 && rank < last) {
        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_free(&win));
        OK(MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD));
    }
    MPI_Comm left = shrunk(MPI_COMM_WORLD, size - 1);
    OK(MPI_Comm_free(&left));
    return finish();
}
