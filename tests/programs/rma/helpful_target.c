// ranks: 2 4 8
// timeout: 90
// cflags: -O2
// A target may help with accesses to its memory while it is in the library, and stops at any time.
// Origins put, get and accumulate runs of up to a megabyte and single elements; rank 0 meanwhile
// computes, looks for messages, accesses its own memory and waits, in turn and for random times.
// Every value is checked, and that a computing target delays no origin.
#include "windows.h"

enum { LONG = 1 << 17, OWN = 1 << 20, SHORT = 16, ROUNDS = 60, TOGETHER = 10000, TIMES = 100 };

static uint64_t state;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

// Lengths of every kind: a few elements, about a page, and long ones.
static int length(int most) {
    switch (draw(4)) {
    case 0: return 1 + (int)draw(8);
    case 1: return 400 + (int)draw(400);
    default: return most / 8 + (int)draw((uint32_t)(most - most / 8));
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(double seconds) {
    volatile double x = 1;
    for (double end = now() + seconds; now() < end;)
        for (int i = 0; i < 100; i++) x = x * 1.0000001 + 1e-9;
}

// The memory: a counter, how many are done, sums of all origins, then a part for each origin.
static MPI_Aint sums(void) { return SHORT * 8; }
static MPI_Aint own(int who) { return sums() + LONG * 8 + (MPI_Aint)(who - 1) * OWN; }

static long originate(Window *w, long *adds) {
    char *put = get_memory(OWN), *got = get_memory(OWN);
    long *ones = get_memory(LONG * 8), *old = get_memory(LONG * 8);
    long increments = 0;
    for (int i = 0; i < LONG; i++) ones[i] = 1;
    MPI_Win_lock_all(0, w->win);
    for (int round = 0; round < ROUNDS; round++) {
        const int n = length(OWN), from = (int)draw((uint32_t)(OWN - n + 1));
        const int m = length(LONG), first = (int)draw((uint32_t)(LONG - m + 1));
        const long one = 1;
        fill(put, (size_t)n, (unsigned)(round + rank));
        MPI_Put(put, n, MPI_BYTE, 0, place(w, 0, own(rank) + from), n, MPI_BYTE, w->win);
        MPI_Win_flush(0, w->win);
        memset(got, 0, (size_t)n);
        MPI_Get(got, n, MPI_BYTE, 0, place(w, 0, own(rank) + from), n, MPI_BYTE, w->win);
        MPI_Win_flush(0, w->win);
        CHECK_PATTERN(got, n, round + rank);
        const MPI_Aint at = place(w, 0, sums() + (MPI_Aint)first * 8);
        switch (draw(3)) {
        case 0: MPI_Accumulate(ones, m, MPI_LONG, 0, at, m, MPI_LONG, MPI_SUM, w->win); break;
        case 1:
            for (int i = 0; i < m; i++) old[i] = -1;
            MPI_Get_accumulate(ones, m, MPI_LONG, old, m, MPI_LONG, 0, at, m, MPI_LONG, MPI_SUM, w->win);
            MPI_Win_flush(0, w->win);
            for (int i = 0; i < m; i++) CHECK(size == 2 ? old[i] == adds[first + i] : old[i] >= adds[first + i]);
            break;
        default: {
            // Only this rank writes its own part.
            const int words = m * 8 < OWN ? m : OWN / 8;
            for (int i = 0; i < words; i++) old[i] = (long)round * 1000003 + i;
            MPI_Accumulate(old, words, MPI_LONG, 0, place(w, 0, own(rank)), words, MPI_LONG, MPI_REPLACE, w->win);
            MPI_Accumulate(ones, words, MPI_LONG, 0, place(w, 0, own(rank)), words, MPI_LONG, MPI_SUM, w->win);
            MPI_Get_accumulate(NULL, 0, MPI_LONG, got, words, MPI_LONG, 0, place(w, 0, own(rank)), words, MPI_LONG, MPI_NO_OP,
                               w->win);
            MPI_Win_flush(0, w->win);
            for (int i = 0; i < words; i++) CHECK_EQ(((long *)got)[i], old[i] + 1);
            MPI_Accumulate(ones, m, MPI_LONG, 0, at, m, MPI_LONG, MPI_SUM, w->win);
        }
        }
        for (int i = 0; i < m; i++) adds[first + i]++;
        for (int i = 0; i < 20; i++) {
            long before, swapped;
            MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, place(w, 0, 0), MPI_SUM, w->win);
            MPI_Win_flush(0, w->win);
            CHECK(before >= increments);
            increments++;
            MPI_Compare_and_swap(&one, &one, &swapped, MPI_LONG, 0, place(w, 0, 16), w->win);
            MPI_Win_flush(0, w->win);
        }
        MPI_Send(NULL, 0, MPI_INT, 0, 78, MPI_COMM_WORLD);
    }
    const long one = 1;
    MPI_Accumulate(&one, 1, MPI_LONG, 0, place(w, 0, 8), 1, MPI_LONG, MPI_SUM, w->win);
    MPI_Win_unlock_all(w->win);
    free(put);
    free(got);
    free(ones);
    free(old);
    return increments;
}

// All at once to the same elements, while the target waits for the end.
static void add_together(Window *w) {
    if (rank == 0) {
        for (int i = 1; i < size; i++) MPI_Recv(NULL, 0, MPI_INT, i, 79, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    long *ones = get_memory(TOGETHER * 8);
    for (int i = 0; i < TOGETHER; i++) ones[i] = 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
    for (int i = 0; i < TIMES; i++)
        MPI_Accumulate(ones, TOGETHER, MPI_LONG, 0, place(w, 0, sums()), TOGETHER, MPI_LONG, MPI_SUM, w->win);
    MPI_Win_unlock(0, w->win);
    free(ones);
    MPI_Send(NULL, 0, MPI_INT, 0, 79, MPI_COMM_WORLD);
}

// Until all origins are done; sometimes in the library, sometimes not.
static void be_target(Window *w) {
    long done = 0, one = 1, old;
    int tokens = 0;
    const double begin = now();
    while (done < size - 1) {
        int flag;
        switch (draw(5)) {
        case 0: compute(1e-6 * draw(2000)); break;
        case 1:
            for (uint32_t i = draw(2000); i > 0; i--) MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            break;
        case 2: {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
            for (uint32_t i = draw(2000); i > 0; i--) MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, place(w, 0, 24), MPI_NO_OP, w->win);
            MPI_Win_unlock(0, w->win);
            break;
        }
        case 3:
            // Every origin sends one a round.
            if (tokens < ROUNDS * (size - 1)) {
                MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                tokens++;
            }
            break;
        default: compute(1e-6 * draw(50));
        }
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
        MPI_Fetch_and_op(&one, &done, MPI_LONG, 0, place(w, 0, 8), MPI_NO_OP, w->win);
        MPI_Win_unlock(0, w->win);
        if (now() - begin > 60) CHECK_FAIL("others are held up");
    }
    for (; tokens < ROUNDS * (size - 1); tokens++)
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    state = (uint64_t)rank * 77 + 5;
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == SHARED) continue;  // as allocated
        const size_t bytes = (size_t)own(size);
        Window w = window(kind, rank == 0 ? bytes : 8, 1);
        long *adds = calloc(LONG, sizeof *adds), *all = calloc(LONG, sizeof *all);
        long increments = 0, together = 0;
        if (rank == 0)
            be_target(&w);
        else
            increments = originate(&w, adds);
        add_together(&w);
        MPI_Reduce(&increments, &together, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(adds, all, LONG, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
            CHECK_EQ(*(long *)w.base, together);
            for (int i = 0; i < LONG; i++)
                CHECK_EQ(((long *)(w.base + sums()))[i], all[i] + (i < TOGETHER ? TIMES * (size - 1) : 0));
            MPI_Win_unlock(0, w.win);
        }
        free(adds);
        free(all);
        window_free(&w);
    }
    MPI_Finalize();
    return 0;
}
