// ranks: 1 2 3 8
// timeout: 60
// Post, start, complete and wait: a halo exchange on a ring, with every assertion; groups that differ from rank to rank;
// MPI_Win_test; epochs of both kinds at a time.
#include "windows.h"

static MPI_Group group_of(const int *ranks, int n) {
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

// Each rank has cells and a halo of one on both sides; after each step the halo holds the neighbours' cells.
static void halo(int kind) {
    enum { CELLS = 100, STEPS = 60 };
    Window w = window(kind, (CELLS + 2) * sizeof(double), sizeof(double));
    double *cells = (double *)w.base;
    const int unit = (int)sizeof(double) / w.unit;
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    const int both[] = {left, right};
    MPI_Group neighbours = group_of(both, left == right ? 1 : 2);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 1; i <= CELLS; i++) cells[i] = rank * 1000 + i + step;
        const int check = step % 4 == 1 ? MPI_MODE_NOCHECK : 0;
        MPI_Win_post(neighbours, check | (step % 3 ? 0 : MPI_MODE_NOSTORE), w.win);
        if (check) MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_start(neighbours, check, w.win);
        MPI_Put(&cells[1], 1, MPI_DOUBLE, left, place(&w, left, (CELLS + 1) * unit), 1, MPI_DOUBLE, w.win);
        MPI_Put(&cells[CELLS], 1, MPI_DOUBLE, right, place(&w, right, 0), 1, MPI_DOUBLE, w.win);
        MPI_Win_complete(w.win);
        if (step % 2) {
            MPI_Win_wait(w.win);
        } else {
            int done = 0;
            while (!done) MPI_Win_test(w.win, &done);
        }
        CHECK(cells[0] == left * 1000 + CELLS + step);
        CHECK(cells[CELLS + 1] == right * 1000 + 1 + step);
    }
    MPI_Group_free(&neighbours);
    window_free(&w);
}

// All ranks write to rank 0, which exposes its memory and accesses no other; it counts what
// arrives.
static void one_target(int kind) {
    Window w = window(kind, (size_t)size * sizeof(int), sizeof(int));
    const int unit = (int)sizeof(int) / w.unit, zero[] = {0};
    int *others = get_memory((size_t)size * sizeof(int));
    for (int r = 1; r < size; r++) others[r - 1] = r;
    MPI_Group to = group_of(zero, 1), from = group_of(others, size - 1);
    for (int i = 0; i < 30; i++) {
        const int mark = rank * 100 + i;
        if (rank == 0) {
            MPI_Win_post(from, 0, w.win);
            // Completions may come while it is exposed, but not all before the last has come.
            if (i % 2) sleep_ms(1);
            MPI_Win_wait(w.win);
            for (int r = 1; r < size; r++) CHECK_EQ(((int *)w.base)[r], r * 100 + i);
        } else {
            if (rank % 2) sleep_ms(1);
            MPI_Win_start(to, 0, w.win);
            MPI_Put(&mark, 1, MPI_INT, 0, place(&w, 0, rank * unit), 1, MPI_INT, w.win);
            MPI_Win_complete(w.win);
        }
    }
    MPI_Group_free(&to);
    if (from != MPI_GROUP_EMPTY) MPI_Group_free(&from);
    free(others);
    window_free(&w);
}

// Empty groups are epochs too; a test before the origin is done says no.
static void tests(int kind) {
    Window w = window(kind, sizeof(int), sizeof(int));
    MPI_Win_post(MPI_GROUP_EMPTY, 0, w.win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, w.win);
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    if (size > 1 && rank < 2) {
        const int other[] = {1 - rank};
        MPI_Group group = group_of(other, 1);
        if (rank == 0) {
            int done = 1, go = 1;
            MPI_Win_post(group, MPI_MODE_NOPUT, w.win);
            MPI_Win_test(w.win, &done);
            CHECK_EQ(done, 0);
            MPI_Send(&go, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Win_wait(w.win);
        } else {
            int go;
            MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_start(group, 0, w.win);
            MPI_Win_complete(w.win);
        }
        MPI_Group_free(&group);
    }
    window_free(&w);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        halo(kind);
        one_target(kind);
        tests(kind);
    }
    MPI_Finalize();
    return 0;
}
