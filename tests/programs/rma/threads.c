// ranks: 1 2 4
// timeout: 60
// Threads of every rank draw numbers from one counter, and lock and unlock: nothing is lost, and no
// thread hangs.
#include "windows.h"
#include <pthread.h>

enum { THREADS = 3, DRAWS = 100 };

static Window board, locked;

static void *draw(void *seen) {
    const long one = 1;
    for (int i = 0; i < DRAWS; i++) {
        long drawn = -1;
        MPI_Fetch_and_op(&one, &drawn, MPI_LONG, 0, place(&board, 0, 0), MPI_SUM, board.win);
        MPI_Win_flush(0, board.win);
        CHECK(drawn >= 0 && drawn < (long)size * THREADS * DRAWS);
        ((char *)seen)[drawn]++;
    }
    return NULL;
}

// A thread sleeps for a lock of another rank while other threads of its process continue.
static void *lock(void *unused) {
    for (int i = 0; i < 50; i++) {
        long value;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, locked.win);
        MPI_Get(&value, 1, MPI_LONG, 0, place(&locked, 0, 0), 1, MPI_LONG, locked.win);
        MPI_Win_flush(0, locked.win);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, place(&locked, 0, 0), 1, MPI_LONG, locked.win);
        MPI_Win_unlock(0, locked.win);
    }
    return unused;
}

int main(int argc, char **argv) {
    start_threads(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        pthread_t threads[THREADS], locker;
        char *seen[THREADS];
        board = window(kind, sizeof(long), 1);
        locked = window(kind, sizeof(long), 1);
        MPI_Win_lock_all(0, board.win);
        pthread_create(&locker, NULL, lock, NULL);
        for (int i = 0; i < THREADS; i++) {
            seen[i] = calloc((size_t)size * THREADS, DRAWS);
            pthread_create(&threads[i], NULL, draw, seen[i]);
        }
        for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
        pthread_join(locker, NULL);
        MPI_Win_unlock_all(board.win);
        int drawn = 0;
        for (int n = 0; n < size * THREADS * DRAWS; n++) {
            int times = 0;
            for (int i = 0; i < THREADS; i++) times += seen[i][n];
            CHECK(times <= 1);
            drawn += times;
        }
        CHECK_EQ(drawn, THREADS * DRAWS);
        for (int i = 0; i < THREADS; i++) free(seen[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, board.win);
            CHECK_EQ(*(long *)board.base, (long)size * THREADS * DRAWS);
            MPI_Win_unlock(0, board.win);
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, locked.win);
            CHECK_EQ(*(long *)locked.base, 50L * size);
            MPI_Win_unlock(0, locked.win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        window_free(&board);
        window_free(&locked);
    }
    MPI_Finalize();
    return 0;
}
