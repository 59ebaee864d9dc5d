// ranks: 4
// launch: --pretend-hosts 2
// timeout: 120
// Four origins, two of them on the target's host, change one word with accumulates, fetch-and-op and compare-and-swap: the
// sum is exact. Meanwhile the target is in MPI, computes without MPI, or is stopped by a signal. On windows of every kind.
#include "../rma/windows.h"
#include <signal.h>
#include <sys/wait.h>

#ifndef ROUNDS
#define ROUNDS 300
#endif
enum { IN_MPI, COMPUTES, STOPPED, STATES };

// Adds three to the word in each round, in three ways.
static void origin(Window *w) {
    const int64_t one = 1;
    int64_t old, now, expected;
    MPI_Win_lock_all(0, w->win);
    for (int i = 0; i < ROUNDS; i++) {
        OK(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, place(w, 0, 0), 1, MPI_INT64_T, MPI_SUM, w->win));
        OK(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, place(w, 0, 0), MPI_SUM, w->win));
        OK(MPI_Win_flush(0, w->win));
        CHECK(old >= 2 * i && old < 3 * size * ROUNDS);
        now = old;
        do {
            const int64_t next = now + 1;
            expected = now;
            OK(MPI_Compare_and_swap(&next, &expected, &now, MPI_INT64_T, 0, place(w, 0, 0), w->win));
            OK(MPI_Win_flush(0, w->win));
        } while (now != expected);
    }
    // The other word counts those who are done.
    OK(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, place(w, 0, 8), 1, MPI_INT64_T, MPI_SUM, w->win));
    MPI_Win_unlock_all(w->win);
}

// Stops this process; a child wakes it.
static void stop_for(unsigned seconds) {
    const pid_t parent = getpid(), waker = fork();
    if (waker == 0) {
        sleep(seconds);
        kill(parent, SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    waitpid(waker, NULL, 0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int state = 0; state < STATES; state++) {
            Window w = window(kind, 64, 1);
            volatile int64_t *words = (volatile int64_t *)w.base;
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank != 0) {
                origin(&w);
            } else if (state == COMPUTES) {
                volatile double x = 1;
                const time_t begin = time(NULL);
                while (words[1] != size - 1) {
                    for (int i = 0; i < 1000; i++) x = x * 1.0000001 + 1e-9;
                    if (time(NULL) - begin > 60) CHECK_FAIL("the origins are held up");
                }
            } else if (state == STOPPED) {
                // What the origins do takes far less than this process is stopped, unless the machine is overloaded.
                for (int i = 0; i < 10 && words[1] != size - 1; i++) stop_for(2);
                CHECK_EQ(words[1], size - 1);
            }
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
            int64_t sum = -1;
            MPI_Get(&sum, 1, MPI_INT64_T, 0, place(&w, 0, 0), 1, MPI_INT64_T, w.win);
            MPI_Win_unlock(0, w.win);
            CHECK_EQ(sum, 3 * (size - 1) * ROUNDS);
            MPI_Barrier(MPI_COMM_WORLD);
            window_free(&w);
        }
    }
    return finish();
}
