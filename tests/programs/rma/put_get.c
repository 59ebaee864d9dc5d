// ranks: 1 2 3 8
// timeout: 60
// Puts and gets of all lengths, contiguous and not, between all pairs, on windows of every kind, between fences. What is
// next to the place stays as it is.
#include "windows.h"

static void lengths(int kind) {
    enum { ROOM = 200000 };
    static const int some[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 64, 100, 1000, 4096, 4097, 65536, 100001};
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    Window w = window(kind, ROOM, 1);
    char *origin = get_memory(ROOM), *back = get_memory(ROOM);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const int n = some[i], at = (int)(i % 5) * 3 + 1;
        memset(w.base, 0x5a, ROOM);
        memset(back, 0x77, ROOM);
        fill(origin, (size_t)n, (unsigned)(rank * 100 + n));
        MPI_Win_fence(0, w.win);
        MPI_Put(origin, n, MPI_BYTE, next, place(&w, next, at), n, MPI_BYTE, w.win);
        MPI_Win_fence(0, w.win);
        CHECK_PATTERN(w.base + at, n, previous * 100 + n);
        CHECK_BYTES(w.base, at, 0x5a);
        CHECK_BYTES(w.base + at + n, 1000, 0x5a);
        MPI_Get(back + 8, n, MPI_BYTE, next, place(&w, next, at), n, MPI_BYTE, w.win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        CHECK_PATTERN(back + 8, n, rank * 100 + n);
        CHECK_BYTES(back, 8, 0x77);
        CHECK_BYTES(back + 8 + n, 1000, 0x77);
        MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win);
    }
    MPI_Win_fence(0, w.win);
    free(origin);
    free(back);
    window_free(&w);
}

// Every rank has a column in a matrix that lies at rank 0, and takes it back as a row.
static void layouts(int kind) {
    enum { ROWS = 300 };
    Window w = window(kind, ROWS * (size_t)size * sizeof(int), sizeof(int));
    const int unit = (int)sizeof(int) / w.unit;
    MPI_Datatype column, reversed;
    MPI_Type_vector(ROWS, 1, size, MPI_INT, &column);
    MPI_Type_commit(&column);
    int displacements[ROWS], numbers[ROWS], rows[ROWS];
    for (int i = 0; i < ROWS; i++) displacements[i] = ROWS - 1 - i;
    MPI_Type_create_indexed_block(ROWS, 1, displacements, MPI_INT, &reversed);
    MPI_Type_commit(&reversed);
    for (int i = 0; i < ROWS; i++) numbers[i] = rank * 1000 + i;

    // From one run, and from scattered elements.
    for (int scattered = 0; scattered < 2; scattered++) {
        MPI_Win_fence(0, w.win);
        if (scattered)
            MPI_Put(numbers, 1, reversed, 0, place(&w, 0, rank * unit), 1, column, w.win);
        else
            MPI_Put(numbers, ROWS, MPI_INT, 0, place(&w, 0, rank * unit), 1, column, w.win);
        MPI_Win_fence(0, w.win);
        if (rank == 0)
            for (int i = 0; i < ROWS; i++)
                for (int r = 0; r < size; r++)
                    CHECK_EQ(((int *)w.base)[i * size + r], r * 1000 + (scattered ? ROWS - 1 - i : i));
        memset(rows, 0, sizeof rows);
        if (scattered)
            MPI_Get(rows, 1, reversed, 0, place(&w, 0, rank * unit), 1, column, w.win);
        else
            MPI_Get(rows, ROWS, MPI_INT, 0, place(&w, 0, rank * unit), 1, column, w.win);
        MPI_Win_fence(0, w.win);
        for (int i = 0; i < ROWS; i++) CHECK_EQ(rows[i], numbers[i]);
    }
    // Fewer at the origin than the target has room for.
    const int one = -5 - rank;
    MPI_Put(&one, 1, MPI_INT, 0, place(&w, 0, rank * unit), 1, column, w.win);
    MPI_Win_fence(0, w.win);
    if (rank == 0)
        for (int r = 0; r < size; r++) {
            CHECK_EQ(((int *)w.base)[r], -5 - r);
            CHECK_EQ(((int *)w.base)[size + r], r * 1000 + ROWS - 2);
        }
    MPI_Win_fence(0, w.win);
    MPI_Type_free(&column);
    MPI_Type_free(&reversed);
    window_free(&w);
}

// Each rank has its own size and unit; some have no memory.
static void units(int allocated) {
    const int unit = 1 + rank % 4, count = rank % 3 == 1 ? 0 : 16;
    char own[64 * 4], *base = own;
    MPI_Win win;
    if (allocated)
        MPI_Win_allocate_c(unit * count, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    else
        MPI_Win_create_c(count ? own : NULL, unit * count, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memset(base, 0, (size_t)(unit * count));
    MPI_Win_fence(0, win);
    for (int target = 0; target < size; target++) {
        const int places = target % 3 == 1 ? 0 : 16;
        const char mark = (char)(rank + 1);
        if (rank < places) MPI_Put_c(&mark, 1, MPI_CHAR, target, rank, 1, MPI_CHAR, win);
    }
    MPI_Put(NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < unit * count; i++)
        CHECK_EQ(base[i], i % unit == 0 && i / unit < size ? i / unit + 1 : 0);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        lengths(kind);
        layouts(kind);
    }
    units(0);
    units(1);
    MPI_Finalize();
    return 0;
}
