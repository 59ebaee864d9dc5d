// ranks: 1 2 4 8
// timeout: 60
// What programs build from one-sided operations: a distributed histogram, a ticket lock, a
// lock-free list with elements in the memory of all ranks, a board that one rank writes and others
// poll.
#include "windows.h"

static void histogram(int kind, int draws) {
    enum { BINS = 50 };
    Window w = window(kind, BINS * sizeof(int), sizeof(int));
    const int unit = (int)sizeof(int) / w.unit, one = 1;
    int *expected = calloc((size_t)(BINS * size), sizeof(int));
    MPI_Win_lock_all(0, w.win);
    for (int r = 0; r < size; r++) {
        uint32_t x = (uint32_t)(r + 1) * 2654435761u;
        for (int i = 0; i < draws; i++) {
            x = x * 1664525u + 1013904223u;
            const int bin = (int)((x >> 8) % (uint32_t)(BINS * size));
            expected[bin]++;
            if (r == rank)
                MPI_Accumulate(&one, 1, MPI_INT, bin / BINS, place(&w, bin / BINS, bin % BINS * unit), 1, MPI_INT, MPI_SUM,
                               w.win);
        }
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
    for (int i = 0; i < BINS; i++) CHECK_EQ(((int *)w.base)[i], expected[rank * BINS + i]);
    MPI_Win_unlock(rank, w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    free(expected);
    window_free(&w);
}

// Words of the lock at rank 0: the next ticket, the one that is served, and what the lock protects.
static void ticket_lock(int kind, int rounds) {
    Window w = window(kind, 4 * sizeof(int64_t), sizeof(int64_t));
    const int unit = (int)sizeof(int64_t) / w.unit;
    const int64_t one = 1;
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < rounds; i++) {
        int64_t ticket = -1, served = -1, pair[2];
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, place(&w, 0, 0), MPI_SUM, w.win);
        MPI_Win_flush(0, w.win);
        do {
            MPI_Fetch_and_op(NULL, &served, MPI_INT64_T, 0, place(&w, 0, unit), MPI_NO_OP, w.win);
            MPI_Win_flush(0, w.win);
            CHECK(served <= ticket);
        } while (served != ticket);
        MPI_Get(pair, 2, MPI_INT64_T, 0, place(&w, 0, 2 * unit), 2, MPI_INT64_T, w.win);
        MPI_Win_flush(0, w.win);
        CHECK_EQ(pair[0], ticket);
        CHECK_EQ(pair[1], -ticket);
        pair[0]++;
        pair[1]--;
        MPI_Put(pair, 2, MPI_INT64_T, 0, place(&w, 0, 2 * unit), 2, MPI_INT64_T, w.win);
        MPI_Win_flush(0, w.win);
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, place(&w, 0, unit), 1, MPI_INT64_T, MPI_SUM, w.win);
        MPI_Win_flush(0, w.win);
    }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&w);
}

// A stack: its head is at rank 0 and names an element by its owner and place. Each rank pushes its
// own elements, then all pop until it is empty; every element is popped once.
static void stack(int kind, int pushes) {
    typedef struct {
        int64_t next, value;
    } Element;
    // The head comes first, then this rank's elements; a name is zero for none, else owner and place.
    Window w = window(kind, sizeof(Element) * (size_t)(pushes + 1), 1);
    const int64_t name_of_first = (int64_t)rank << 32;
    char *popped = calloc((size_t)(size * pushes), 1);
    MPI_Win_lock_all(0, w.win);
    for (int i = 1; i <= pushes; i++) {
        const int64_t name = name_of_first | i;
        int64_t head, seen;
        const MPI_Aint at = place(&w, rank, (MPI_Aint)sizeof(Element) * i);
        MPI_Fetch_and_op(NULL, &head, MPI_INT64_T, 0, place(&w, 0, 0), MPI_NO_OP, w.win);
        MPI_Win_flush(0, w.win);
        for (;;) {
            const Element element = {head, rank * pushes + i - 1};
            MPI_Put(&element, 2, MPI_INT64_T, rank, at, 2, MPI_INT64_T, w.win);
            MPI_Win_flush(rank, w.win);
            MPI_Compare_and_swap(&name, &head, &seen, MPI_INT64_T, 0, place(&w, 0, 0), w.win);
            MPI_Win_flush(0, w.win);
            if (seen == head) break;
            head = seen;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int mine = 0;
    for (;;) {
        int64_t head, seen;
        MPI_Fetch_and_op(NULL, &head, MPI_INT64_T, 0, place(&w, 0, 0), MPI_NO_OP, w.win);
        MPI_Win_flush(0, w.win);
        while (head) {
            Element element;
            const int from = (int)(head >> 32);
            MPI_Get(&element, 2, MPI_INT64_T, from, place(&w, from, (MPI_Aint)sizeof(Element) * (head & 0xffffffff)), 2,
                    MPI_INT64_T, w.win);
            MPI_Win_flush(from, w.win);
            MPI_Compare_and_swap(&element.next, &head, &seen, MPI_INT64_T, 0, place(&w, 0, 0), w.win);
            MPI_Win_flush(0, w.win);
            if (seen == head) {
                CHECK_EQ(popped[element.value], 0);
                popped[element.value] = 1;
                mine++;
                break;
            }
            head = seen;
        }
        if (!head) break;
    }
    MPI_Win_unlock_all(w.win);
    // Together they have all.
    if (rank) {
        MPI_Send(popped, size * pushes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    } else {
        char *others = get_memory((size_t)(size * pushes));
        for (int r = 1; r < size; r++) {
            MPI_Recv(others, size * pushes, MPI_CHAR, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < size * pushes; i++) popped[i] = (char)(popped[i] + others[i]);
        }
        CHECK_BYTES(popped, size * pushes, 1);
        free(others);
    }
    CHECK(mine <= size * pushes);
    free(popped);
    MPI_Barrier(MPI_COMM_WORLD);
    window_free(&w);
}

// Stores of the owner are seen by others, and puts by the owner, with nothing but MPI_Win_sync in between.
static void polling(void) {
    if (!is_one_host(MPI_COMM_WORLD)) return;
    MPI_Win win;
    volatile int *base;
    MPI_Aint bytes;
    int unit;
    MPI_Win_allocate_shared(rank == 0 ? 256 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &base);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    if (rank == 0) base[0] = 0, base[32] = 0;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank < 2)
        for (int i = 0; i < 50; i++) {
            volatile int *mine = base + 32 * rank, *other = base + 32 * (1 - rank);
            if (rank == 0) *mine = i + 1;
            while (*other != i + 1) {
                MPI_Win_sync(win);
                usleep(1);
            }
            MPI_Win_sync(win);
            if (rank == 1) *mine = i + 1;
        }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        histogram(kind, 500);
        ticket_lock(kind, 40);
        stack(kind, 50);
    }
    polling();
    MPI_Finalize();
    return 0;
}
