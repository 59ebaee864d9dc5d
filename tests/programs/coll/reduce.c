// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Reduce and MPI_Allreduce in all forms: every root, in place, operations of the library and of users, strictly in the order of
// ranks where they do not commute, on layouts with gaps, both kinds of communicators.
#include "reductions.h"

static struct image out, in, expected, before;
static struct roles role;
static const struct place *here;
static int side, root, in_place, op, to_all;
static long n;

static void prepare(void) {
    wipe(&in);
    wipe(&out);
    wipe(&expected);
    wipe(&before);
    put(&out, 0, n, here->group, here->me, 0);
    put(&before, 0, n, here->group, here->me, 0);
    int other = here->inter ? 1 - here->group : 0;
    if (in_place) put(&in, 0, n, 0, here->me, 0);
    if (to_all || role.is_root) combine(&expected, 0, op, other, 0, here->from, 0, n);
}

static void verify(void) {
    same(&in, &expected);
    same(&out, &before);
}

static int begin(const struct place *p, int which, long length, int choice) {
    here = p, op = which, n = length;
    int kind = kind_with(op, n, choice);
    in = new_image(kind, elements(kind, n));
    out = new_image(kind, elements(kind, n));
    expected = new_image(kind, elements(kind, n));
    before = new_image(kind, elements(kind, n));
    return kind;
}

static void end(void) {
    drop(&in);
    drop(&out);
    drop(&expected);
    drop(&before);
}

static void reduce(const struct place *p, int which_root, int which, long length, int choice, int place_in) {
    int kind = begin(p, which, length, choice), count = (int)elements(kind, n);
    root_at(p, which_root, &side, &root);
    role = roles(p, side, root);
    to_all = 0, in_place = place_in && role.is_root && !p->inter;
    describe("Reduce of %ld ints, kind %d, operation %d%s, root %d of group %d, %s", n, kind, op,
             in_place ? ", in place" : "", root, side, p->name);
    const void *from = in_place ? MPI_IN_PLACE : role.takes_part ? out.base : NULL;
    void *to = role.is_root ? in.base : NULL;
    CASE(Reduce, reduce, prepare(), verify(), from, to, count, type_with(op, kind), operations[op], role.argument, p->comm);
    end();
}

static void allreduce(const struct place *p, int which, long length, int choice, int place_in) {
    int kind = begin(p, which, length, choice), count = (int)elements(kind, n);
    to_all = 1, in_place = place_in && !p->inter;
    describe("Allreduce of %ld ints, kind %d, operation %d%s, %s", n, kind, op, in_place ? ", in place" : "", p->name);
    const void *from = in_place ? MPI_IN_PLACE : out.base;
    CASE(Allreduce, allreduce, prepare(), verify(), from, in.base, count, type_with(op, kind), operations[op], p->comm);
    end();
}

static void reductions(const struct place *p) {
    static const long lengths[OPERATIONS][6] = {
        {0, 1, 7, 1000, 4097, 9000}, {0, 4, 28, 1000, 4100, 9000}, {0, 1, 28, 1001, 4096, 9000}};
    EACH_FORM for (int o = 0; o < OPERATIONS; o++) for (int l = 0; l < 6; l++) {
        if (skip(o + l)) continue;
        for (int i = 0; i < roots(p); i++)
            if (l < 3 || (i + l + form) % 3 == 0) reduce(p, i, o, lengths[o][l], i + l + form, (i + l + form) % 2);
        allreduce(p, o, lengths[o][l], l + form, (l + form) % 2);
        allreduce(p, o, lengths[o][l], l + form + 1, (l + form + 1) % 2);
    }
    EACH_FORM if (long_ones(p)) {
        reduce(p, form % roots(p), SUM, 65536 + 3, 0, form % 2);
        allreduce(p, SUM, 65536 + 3, 0, form % 2);
    }
    if (p->inter) return;
    form = BLOCKING;
    allreduce(p, MATRIX, 100000, 1, 0);
    allreduce(p, SUM, 400001, 0, 1);
    reduce(p, roots(p) - 1, SUM, 400001, 0, 0);
    reduce(p, roots(p) / 2, MATRIX, 100000, 0, 1);
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
