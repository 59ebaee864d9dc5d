// ranks: 2 3
// timeout: 60
// A target that calls no MPI function delays no origin: puts, gets, accumulates of every kind,
// locks and flushes of others complete in the meantime. It computes until it sees in its own memory that
// all is done. On windows of every kind.
#include "windows.h"

// Until all others have said so in our memory.
static void compute(const volatile long *done) {
    volatile double x = 1;
    const time_t begin = time(NULL);
    while (*done != size - 1) {
        for (int i = 0; i < 1000; i++) x = x * 1.0000001 + 1e-9;
        if (time(NULL) - begin > 40) CHECK_FAIL("others are held up");
    }
}

int main(int argc, char **argv) {
    enum { BYTES = 1 << 20 };
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        Window w = window(kind, BYTES, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            compute((long *)(w.base + 16));
        } else {
            char *big = get_memory(BYTES), *back = get_memory(BYTES);
            const MPI_Aint part = BYTES / size, at = part * rank;
            const int n = (int)part / 2;
            const long one = 1;
            long old;
            fill(big, BYTES, (unsigned)rank);
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
            MPI_Put(big, n, MPI_BYTE, 0, place(&w, 0, at), n, MPI_BYTE, w.win);
            MPI_Win_flush(0, w.win);
            MPI_Get(back, n, MPI_BYTE, 0, place(&w, 0, at), n, MPI_BYTE, w.win);
            MPI_Win_flush(0, w.win);
            CHECK_PATTERN(back, n, rank);
            // Long accumulates, too: what is put comes back, changed by one in every byte.
            for (int i = 0; i < n; i++) back[i] = 1;
            MPI_Accumulate(back, n, MPI_INT8_T, 0, place(&w, 0, at), n, MPI_INT8_T, MPI_SUM, w.win);
            MPI_Get_accumulate(big, n, MPI_INT8_T, back, n, MPI_INT8_T, 0, place(&w, 0, at), n, MPI_INT8_T, MPI_REPLACE, w.win);
            MPI_Win_flush(0, w.win);
            for (int i = 0; i < n; i++) back[i]--;
            CHECK_PATTERN(back, n, rank);
            for (int i = 0; i < 100; i++) {
                MPI_Accumulate(&one, 1, MPI_LONG, 0, place(&w, 0, 0), 1, MPI_LONG, MPI_SUM, w.win);
                MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, place(&w, 0, 0), MPI_SUM, w.win);
                MPI_Get_accumulate(&one, 1, MPI_LONG, &old, 1, MPI_LONG, 0, place(&w, 0, 0), 1, MPI_LONG, MPI_SUM, w.win);
                MPI_Compare_and_swap(&one, &one, &old, MPI_LONG, 0, place(&w, 0, 8), w.win);
                MPI_Win_flush(0, w.win);
            }
            MPI_Win_unlock(0, w.win);
            for (int i = 0; i < 10; i++) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
                MPI_Put(big, 8, MPI_BYTE, 0, place(&w, 0, at), 8, MPI_BYTE, w.win);
                MPI_Win_unlock(0, w.win);
            }
            MPI_Win_lock_all(0, w.win);
            MPI_Accumulate(&one, 1, MPI_LONG, 0, place(&w, 0, 16), 1, MPI_LONG, MPI_SUM, w.win);
            MPI_Win_unlock_all(w.win);
            free(big);
            free(back);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
            CHECK_EQ(*(long *)w.base, 300L * (size - 1));
            MPI_Win_unlock(0, w.win);
        }
        window_free(&w);
    }
    MPI_Finalize();
    return 0;
}
