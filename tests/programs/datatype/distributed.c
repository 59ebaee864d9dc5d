// ranks: 1
// cflags: -O2
// Distributed arrays of up to four dimensions, every distribution, both orders: what each process owns, in the order of
// memory, against a definition that looks at one element at a time.
#include "layout.h"

typedef struct {
    int n, sizes[4], distribs[4], args[4], procs[4], order;
} Array;

// The coordinate, in its dimension of the process grid, of the process that owns index `i`.
static int owner(const Array *a, int d, int i) {
    int n = a->sizes[d], p = a->procs[d], arg = a->args[d];
    switch (a->distribs[d]) {
        case MPI_DISTRIBUTE_BLOCK: return i / (arg == MPI_DISTRIBUTE_DFLT_DARG ? (n + p - 1) / p : arg);
        case MPI_DISTRIBUTE_CYCLIC: return i / (arg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : arg) % p;
        default: return 0;
    }
}

static int owns(const Array *a, const int *coords, int element) {
    for (int k = 0; k < a->n; k++) {
        int d = a->order == MPI_ORDER_C ? a->n - 1 - k : k;
        if (owner(a, d, element % a->sizes[d]) != coords[d]) return 0;
        element /= a->sizes[d];
    }
    return 1;
}

static Array any_array(void) {
    static const int distribs[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    Array a = {.n = 1 + rand() % 4, .order = rand() % 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN};
    for (int d = 0; d < a.n; d++) {
        a.sizes[d] = 1 + rand() % (a.n > 2 ? 6 : 17);
        a.distribs[d] = distribs[rand() % 3];
        a.procs[d] = a.distribs[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + rand() % 4;
        a.args[d] = MPI_DISTRIBUTE_DFLT_DARG;
        int block = (a.sizes[d] + a.procs[d] - 1) / a.procs[d];
        if (rand() % 2 && a.distribs[d] == MPI_DISTRIBUTE_BLOCK) a.args[d] = block + rand() % 3;
        if (rand() % 2 && a.distribs[d] == MPI_DISTRIBUTE_CYCLIC) a.args[d] = 1 + rand() % 5;
    }
    return a;
}

static void check_array(const Array *a) {
    int procs = 1, total = 1;
    for (int d = 0; d < a->n; d++) procs *= a->procs[d], total *= a->sizes[d];
    int *all = get_memory((size_t)total * sizeof *all), *got = get_memory((size_t)total * sizeof *got);
    for (int i = 0; i < total; i++) all[i] = i;
    for (int r = 0; r < procs; r++) {
        MPI_Datatype t;
        int coords[4], bytes = -1, position = 0, n = 0;
        MPI_Aint lb = -1, extent = -1;
        // Processes are numbered in the order of C, whatever the order of the array.
        for (int d = a->n - 1, rest = r; d >= 0; rest /= a->procs[d--]) coords[d] = rest % a->procs[d];
        OK(MPI_Type_create_darray(procs, r, a->n, a->sizes, a->distribs, a->args, a->procs, a->order, MPI_INT, &t));
        OK(MPI_Type_commit(&t));
        OK(MPI_Type_get_extent(t, &lb, &extent));
        CHECK_EQ(lb, 0);
        CHECK_EQ(extent, 4 * total);
        OK(MPI_Pack(all, 1, t, got, 4 * total, &position, MPI_COMM_SELF));
        for (int i = 0; i < total; i++)
            if (owns(a, coords, i) && got[n++] != i)
                CHECK_FAIL("process %d: entry %d is element %d, not %d", r, n - 1, got[n - 1], i);
        CHECK_EQ(position, 4 * n);
        OK(MPI_Type_size(t, &bytes));
        CHECK_EQ(bytes, 4 * n);
        OK(MPI_Type_free(&t));
    }
    free(all);
    free(got);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    srand(11);
    for (int i = 0; i < 3000; i++) {
        Array a = any_array();
        check_array(&a);
    }
    return finish();
}
