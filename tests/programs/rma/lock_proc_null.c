// ranks: 1 2 4
// MPI_PROC_NULL is locked like a rank, so that programs need not ask whether they have a neighbour: operations on it are
// allowed then, those on others are not, and every lock ends once.
#include "windows.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        Window w = window(kind, 64, 8);
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        int64_t value = 5, old = 7;
        MPI_Request request;
        // A row of processes, each of which adds to the next; the last has none.
        const int next = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
        const MPI_Aint at = next == MPI_PROC_NULL ? 0 : place(&w, next, 0);
        for (int type = 0; type < 2; type++) {
            OK(MPI_Win_lock(type ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, next, 0, w.win));
            OK(MPI_Accumulate(&value, 1, MPI_INT64_T, next, at, 1, MPI_INT64_T, MPI_SUM, w.win));
            OK(MPI_Raccumulate(&value, 1, MPI_INT64_T, next, at, 1, MPI_INT64_T, MPI_SUM, w.win, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            OK(MPI_Win_flush(next, w.win));
            OK(MPI_Win_flush_local(next, w.win));
            OK(MPI_Win_unlock(next, w.win));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win));
        CHECK_EQ(*(int64_t *)w.base, rank ? 20 : 0);
        // Beside a lock of a rank's.
        OK(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, MPI_MODE_NOCHECK, w.win));
        CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, w.win), MPI_ERR_RMA_SYNC, "already");
        OK(MPI_Fetch_and_op(&value, &old, MPI_INT64_T, MPI_PROC_NULL, 0, MPI_SUM, w.win));
        CHECK_EQ(old, 7);
        OK(MPI_Win_unlock(rank, w.win));
        CHECK_ERROR(MPI_Put(&value, 1, MPI_INT64_T, rank, place(&w, rank, 0), 1, MPI_INT64_T, w.win), MPI_ERR_RMA_SYNC,
                    "not locked");
        CHECK_ERROR(MPI_Win_fence(0, w.win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock");
        CHECK_ERROR(MPI_Win_lock_all(0, w.win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock");
        OK(MPI_Win_unlock(MPI_PROC_NULL, w.win));
        CHECK_ERROR(MPI_Win_unlock(MPI_PROC_NULL, w.win), MPI_ERR_RMA_SYNC, "MPI_PROC_NULL");
        CHECK_ERROR(MPI_Win_flush(MPI_PROC_NULL, w.win), MPI_ERR_RMA_SYNC, "locked");
        OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win));
        CHECK_ERROR(MPI_Win_unlock(MPI_PROC_NULL, w.win), MPI_ERR_RMA_SYNC, "other ranks are");
        OK(MPI_Win_unlock(rank, w.win));
        CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, MPI_ANY_SOURCE, 0, w.win), MPI_ERR_RANK, "does not exist");
        MPI_Barrier(MPI_COMM_WORLD);
        window_free(&w);
    }
    MPI_Finalize();
    return 0;
}
