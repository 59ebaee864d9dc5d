// ranks: 1 2 4 8
// timeout: 60
// Locks: exclusive ones exclude all others, shared ones exclude writers; flushes; epochs on several
// targets; no lock where the program says that none is needed.
#include "windows.h"

// A counter that is read and written back under an exclusive lock loses nothing.
static void exclusive(int kind, int rounds) {
    Window w = window(kind, 2 * sizeof(long), 1);
    for (int i = 0; i < rounds; i++) {
        long value[2];
        const int target = i % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win);
        MPI_Get(value, 2, MPI_LONG, target, place(&w, target, 0), 2, MPI_LONG, w.win);
        MPI_Win_flush(target, w.win);
        CHECK_EQ(value[0], -value[1]);
        value[0]++;
        value[1]--;
        MPI_Put(&value[0], 1, MPI_LONG, target, place(&w, target, 0), 1, MPI_LONG, w.win);
        MPI_Win_flush_local(target, w.win);
        MPI_Put(&value[1], 1, MPI_LONG, target, place(&w, target, sizeof(long)), 1, MPI_LONG, w.win);
        MPI_Win_unlock(target, w.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // The owner sees the result in its own memory.
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    const long expected = (long)size * (rounds / size + (rank < rounds % size));
    CHECK_EQ(((long *)w.base)[0], expected);
    CHECK_EQ(((long *)w.base)[1], -expected);
    MPI_Win_unlock(rank, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&w);
}

// Readers never see a writer's work half done.
static void readers(int kind, int rounds) {
    enum { WORDS = 64 };
    Window w = window(kind, WORDS * sizeof(int), sizeof(int));
    const int unit = (int)sizeof(int) / w.unit;
    int numbers[WORDS];
    for (int i = 0; i < rounds; i++) {
        if (rank == i % size) {
            for (int k = 0; k < WORDS; k++) numbers[k] = i + 1;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
            for (int k = 0; k < WORDS; k++)
                MPI_Put(&numbers[k], 1, MPI_INT, 0, place(&w, 0, k * unit), 1, MPI_INT, w.win);
            MPI_Win_unlock(0, w.win);
        } else if ((rank + i) % 3) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
            MPI_Get(numbers, WORDS, MPI_INT, 0, place(&w, 0, 0), WORDS, MPI_INT, w.win);
            MPI_Win_unlock(0, w.win);
            for (int k = 1; k < WORDS; k++) CHECK_EQ(numbers[k], numbers[0]);
        } else {
            MPI_Win_lock_all(0, w.win);
            MPI_Get(numbers, WORDS, MPI_INT, 0, place(&w, 0, 0), WORDS, MPI_INT, w.win);
            MPI_Win_flush_local_all(w.win);
            for (int k = 1; k < WORDS; k++) CHECK_EQ(numbers[k], numbers[0]);
            MPI_Win_unlock_all(w.win);
        }
    }
    window_free(&w);
}

// Several targets at a time, in any order of unlocking; all of them while writers lock two at a time.
static void several(int kind) {
    Window w = window(kind, (size_t)size * sizeof(int), sizeof(int));
    const int unit = (int)sizeof(int) / w.unit, next = (rank + 1) % size;
    for (int i = 0; i < 20; i++) {
        if (rank % 2) {
            MPI_Win_lock_all(0, w.win);
            const int mark = rank + 100;
            for (int target = 0; target < size; target++)
                MPI_Put(&mark, 1, MPI_INT, target, place(&w, target, rank * unit), 1, MPI_INT, w.win);
            MPI_Win_flush_all(w.win);
            MPI_Win_unlock_all(w.win);
        } else {
            // In the order of ranks, so that no two wait for each other.
            const int first = rank < next ? rank : next, second = rank < next ? next : rank;
            const int mark = rank + 100;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, w.win);
            if (second != first) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, second, 0, w.win);
            MPI_Put(&mark, 1, MPI_INT, first, place(&w, first, rank * unit), 1, MPI_INT, w.win);
            MPI_Put(&mark, 1, MPI_INT, second, place(&w, second, rank * unit), 1, MPI_INT, w.win);
            MPI_Win_unlock(first, w.win);
            if (second != first) MPI_Win_unlock(second, w.win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win);
    MPI_Win_sync(w.win);
    for (int r = 1; r < size; r += 2) CHECK_EQ(((int *)w.base)[r], r + 100);
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    const int mark = 7;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, MPI_MODE_NOCHECK, w.win);
    MPI_Put(&mark, 1, MPI_INT, next, place(&w, next, 0), 1, MPI_INT, w.win);
    MPI_Win_unlock(next, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    CHECK_EQ(((int *)w.base)[0], 7);
    MPI_Win_unlock(rank, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&w);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        exclusive(kind, 400);
        readers(kind, 200);
        several(kind);
    }
    MPI_Finalize();
    return 0;
}
