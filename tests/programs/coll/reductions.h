// What the programs for reductions share: three operations on the layouts of coll.h, and their results computed by one process alone,
// strictly in the order of ranks. Numbers are unsigned and wrap around, so that every result is exact.
#ifndef REDUCTIONS_H
#define REDUCTIONS_H

#include "coll.h"

// The sum of the library; products of 2x2 matrices, which do not commute; a sum by a user's function, which does.
enum { SUM, MATRIX, ADD, OPERATIONS };
static MPI_Op operations[OPERATIONS];

static const struct kind *kind_of(MPI_Datatype type) {
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].type == type) return &kinds[i];
    WRONG("the user's function got a datatype that nobody gave");
    return NULL;
}

// w = u v for a row of two matrices.
static void multiply(const unsigned *u, const unsigned *v, unsigned *w) {
    unsigned r[4] = {u[0] * v[0] + u[1] * v[2], u[0] * v[1] + u[1] * v[3], u[2] * v[0] + u[3] * v[2],
                     u[2] * v[1] + u[3] * v[3]};
    memcpy(w, r, sizeof r);
}

static void user_matrix(void *in, void *inout, int *count, MPI_Datatype *type) {
    const struct kind *k = kind_of(*type);
    int *a = in, *b = inout;
    if (!k || k->per != 4 || *count < 0) WRONG("bad arguments for the user's function");
    for (int e = 0; e < *count; e++, a += k->extent, b += k->extent) {
        unsigned u[4], v[4];
        for (int i = 0; i < 4; i++) u[i] = (unsigned)a[k->at[i]], v[i] = (unsigned)b[k->at[i]];
        multiply(u, v, v);
        for (int i = 0; i < 4; i++) b[k->at[i]] = (int)v[i];
    }
}

#ifndef CHECK_NO_LARGE
static void user_add(void *in, void *inout, MPI_Count *count, MPI_Datatype *type) {
#else
static void user_add(void *in, void *inout, int *count, MPI_Datatype *type) {
#endif
    const struct kind *k = kind_of(*type);
    int *a = in, *b = inout;
    if (!k || *count < 0) WRONG("bad arguments for the user's function");
    for (long e = 0; e < (long)*count; e++, a += k->extent, b += k->extent)
        for (int i = 0; i < k->per; i++) b[k->at[i]] = (int)((unsigned)b[k->at[i]] + (unsigned)a[k->at[i]]);
}

CHECK_UNUSED static void make_operations(void) {
    operations[SUM] = MPI_SUM;
    OK(MPI_Op_create(user_matrix, 0, &operations[MATRIX]));
#ifndef CHECK_NO_LARGE
    OK(MPI_Op_create_c(user_add, 1, &operations[ADD]));
#else
    OK(MPI_Op_create(user_add, 1, &operations[ADD]));
#endif
}

CHECK_UNUSED static void free_operations(void) {
    for (int i = 1; i < OPERATIONS; i++) {
        OK(MPI_Op_free(&operations[i]));
        CHECK(operations[i] == MPI_OP_NULL);
    }
}

// A kind that the operation can work on.
CHECK_UNUSED static int kind_with(int op, long n, int choice) {
    if (op == SUM) return PLAIN;
    if (op == MATRIX) return FOUR + choice % (KINDS - FOUR);
    return kind_for(n, choice);
}

CHECK_UNUSED static MPI_Datatype type_with(int op, int kind) { return op == SUM ? MPI_UNSIGNED : kinds[kind].type; }

// Ints number first..first+n of the combination of processes low..high-1 of a group, to these elements.
CHECK_UNUSED static void combine(struct image *m, long element, int op, int group, int low, int high, long first, long n) {
    for (long i = 0; i < n; i += op == MATRIX ? 4 : 1) {
        unsigned r[4], v[4];
        int width = op == MATRIX ? 4 : 1;
        for (int p = low; p < high; p++) {
            for (int k = 0; k < width; k++) v[k] = (unsigned)item(group, p, 0, first + i + k);
            if (p == low)
                memcpy(r, v, sizeof r);
            else if (op == MATRIX)
                multiply(r, v, r);
            else
                r[0] += v[0];
        }
        for (int k = 0; k < width; k++) *spot(m, element, i + k) = (int)r[k];
    }
}

#endif
