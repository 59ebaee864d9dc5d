// ranks: 1 2 4 8
// timeout: 30
// Assignment through a map, A = B(map), with one get for each process and types that pick the elements, and with one get
// for each element; and sums into a map's places, B(map(i)) += A(i), with accumulates. The arrays are distributed in
// blocks over the processes, as is the map.
#include "windows.h"

enum { BLOCK = 60 };

static int owner(int index) { return index / BLOCK; }

// A permutation of all indices: this rank's part of it.
static void permutation(int *map) {
    const int all = BLOCK * size;
    for (int i = 0; i < BLOCK; i++) map[i] = (int)(((long)(rank * BLOCK + i) * 7 + 11) % all);
}

static void map_by_types(Window *w, const int *map, float *a) {
    MPI_Datatype origin, target;
    int here[BLOCK], there[BLOCK];
    MPI_Win_fence(0, w->win);
    for (int p = 0; p < size; p++) {
        int n = 0;
        for (int i = 0; i < BLOCK; i++)
            if (owner(map[i]) == p) {
                here[n] = i;
                there[n++] = map[i] % BLOCK;
            }
        MPI_Type_create_indexed_block(n, 1, here, MPI_FLOAT, &origin);
        MPI_Type_create_indexed_block(n, 1, there, MPI_FLOAT, &target);
        MPI_Type_commit(&origin);
        MPI_Type_commit(&target);
        MPI_Get(a, 1, origin, p, place(w, p, 0), 1, target, w->win);
        // They may go before the operation is complete.
        MPI_Type_free(&origin);
        MPI_Type_free(&target);
    }
    MPI_Win_fence(0, w->win);
}

static void map_by_elements(Window *w, const int *map, float *a) {
    const int unit = (int)sizeof(float) / w->unit;
    MPI_Win_fence(0, w->win);
    for (int i = 0; i < BLOCK; i++) {
        const int p = owner(map[i]);
        MPI_Get(&a[i], 1, MPI_FLOAT, p, place(w, p, map[i] % BLOCK * unit), 1, MPI_FLOAT, w->win);
    }
    MPI_Win_fence(0, w->win);
}

static void sum(Window *w, const int *map, const float *a) {
    const int unit = (int)sizeof(float) / w->unit;
    MPI_Win_fence(0, w->win);
    for (int i = 0; i < BLOCK; i++) {
        const int p = owner(map[i]);
        MPI_Accumulate(&a[i], 1, MPI_FLOAT, p, place(w, p, map[i] % BLOCK * unit), 1, MPI_FLOAT, MPI_SUM, w->win);
    }
    MPI_Win_fence(0, w->win);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int map[BLOCK];
    float a[BLOCK];
    for (int kind = 0; kind < KINDS; kind++) {
        Window w = window(kind, BLOCK * sizeof(float), sizeof(float));
        float *b = (float *)w.base;
        permutation(map);
        for (int i = 0; i < BLOCK; i++) b[i] = (float)(rank * BLOCK + i);
        for (int way = 0; way < 2; way++) {
            memset(a, 0, sizeof a);
            if (way)
                map_by_elements(&w, map, a);
            else
                map_by_types(&w, map, a);
            for (int i = 0; i < BLOCK; i++) CHECK(a[i] == (float)map[i]);
        }
        // The permutation names each place once, and all ranks name the first place of every rank.
        memset(b, 0, BLOCK * sizeof(float));
        for (int i = 0; i < BLOCK; i++) a[i] = (float)(map[i] + 1);
        sum(&w, map, a);
        for (int i = 0; i < BLOCK; i++) CHECK(b[i] == (float)(rank * BLOCK + i + 1));
        memset(b, 0, BLOCK * sizeof(float));
        for (int i = 0; i < BLOCK; i++) {
            map[i] = i % size * BLOCK;
            a[i] = (float)(i / size);
        }
        sum(&w, map, a);
        float expected = 0;
        for (int i = rank; i < BLOCK; i += size) expected += (float)(i / size);
        CHECK(b[0] == expected * (float)size);
        for (int i = 1; i < BLOCK; i++) CHECK(b[i] == 0);
        MPI_Win_fence(0, w.win);
        window_free(&w);
    }
    MPI_Finalize();
    return 0;
}
