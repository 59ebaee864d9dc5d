// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Reduce_scatter_block and MPI_Reduce_scatter in all forms: in place, blocks of different sizes and empty ones, operations of the
// library and of users, both kinds of communicators.
#include "reductions.h"

enum { MOST = 16 };
static struct image out, in, expected, before;
static const struct place *here;
static int in_place, op, kind;
static long length[MOST], total, first; // the blocks in ints; where the block of this process starts

static void prepare(void) {
    wipe(&in);
    wipe(&out);
    wipe(&expected);
    wipe(&before);
    put(&out, 0, total, here->group, here->me, 0);
    put(&before, 0, total, here->group, here->me, 0);
    int other = here->inter ? 1 - here->group : 0;
    if (in_place) put(&in, 0, total, 0, here->me, 0);
    combine(&expected, 0, op, other, 0, here->from, first, length[here->me]);
}

static void verify(void) {
    same(&out, &before);
    if (!in_place) {
        same(&in, &expected);
        return;
    }
    // What is behind the result was input and may be anything now.
    for (long i = 0; i < length[here->me]; i++)
        if (*spot(&in, 0, i) != *spot(&expected, 0, i)) {
            WRONG("int %ld is %#x, not %#x", i, *spot(&in, 0, i), *spot(&expected, 0, i));
            return;
        }
}

static void begin(const struct place *p, int which, int choice, long unit, int place_in) {
    here = p, op = which, in_place = place_in && !p->inter;
    kind = kind_with(op, unit, choice);
    total = first = 0;
    for (int i = 0; i < p->local; i++) {
        if (i < p->me) first += length[i];
        total += length[i];
    }
    out = new_image(kind, elements(kind, total));
    before = new_image(kind, elements(kind, total));
    in = new_image(kind, elements(kind, in_place ? total : length[p->me]));
    expected = new_image(kind, elements(kind, in_place ? total : length[p->me]));
}

static void end(void) {
    drop(&in);
    drop(&out);
    drop(&expected);
    drop(&before);
}

// Both groups together reduce the same number of elements.
static long unit_of(const struct place *p, long n) { return p->inter ? n * p->from : n; }

static void block(const struct place *p, int which, long n, int choice, int place_in) {
    for (int i = 0; i < MOST; i++) length[i] = unit_of(p, n);
    begin(p, which, choice, n, place_in);
    describe("Reduce_scatter_block of %ld ints, kind %d, operation %d%s, %s", n, kind, op, in_place ? ", in place" : "",
             p->name);
    const void *from = in_place ? MPI_IN_PLACE : out.base;
    CASE(Reduce_scatter_block, reduce_scatter_block, prepare(), verify(), from, in.base,
         (int)elements(kind, length[p->me]), type_with(op, kind), operations[op], p->comm);
    end();
}

static void irregular(const struct place *p, int which, long n, int choice, int place_in) {
    // Every third gets nothing (if there are three), the first of them all that is left.
    int counts[MOST];
    MPI_Count counts_c[MOST];
    long left = unit_of(p, n) * p->local;
    for (int i = p->local - 1; i >= 0; i--) {
        long share = n * (i % 2 + 1);
        length[i] = (i + choice) % 3 == 1 ? 0 : i == 0 ? left : share < left ? share : left;
        left -= length[i];
    }
    length[p->local - 1] += left;
    begin(p, which, choice, n, place_in);
    for (int i = 0; i < p->local; i++) counts[i] = (int)elements(kind, length[i]), counts_c[i] = counts[i];
    describe("Reduce_scatter around %ld ints, kind %d, operation %d%s, %s", n, kind, op, in_place ? ", in place" : "",
             p->name);
    const void *from = in_place ? MPI_IN_PLACE : out.base;
    void *to = length[p->me] == 0 && !in_place ? NULL : in.base;
    CASE_V(Reduce_scatter, reduce_scatter, prepare(), verify(),
           (from, to, counts, type_with(op, kind), operations[op], p->comm),
           (from, to, counts_c, type_with(op, kind), operations[op], p->comm));
    end();
}

static void reductions(const struct place *p) {
    static const long lengths[OPERATIONS][5] = {{0, 1, 7, 513, 2049}, {0, 4, 28, 512, 2052}, {0, 1, 28, 513, 2048}};
    EACH_FORM for (int o = 0; o < OPERATIONS; o++) for (int l = 0; l < 5; l++) for (int i = 0; i < 2; i++) {
        if (skip(o + l)) continue;
        block(p, o, lengths[o][l], l + form + i, i);
        irregular(p, o, lengths[o][l], l + form + i, i);
    }
    EACH_FORM if (long_ones(p)) {
        block(p, SUM, 16384 + 3, 0, form % 2);
        irregular(p, SUM, 16384 + 3, 0, form % 2);
    }
    if (p->inter) return;
    form = BLOCKING;
    block(p, MATRIX, 16384, 1, 0);
    block(p, SUM, 100001, 0, 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    make_operations();
    everywhere(reductions);
    free_operations();
    free_kinds();
    return finish();
}
