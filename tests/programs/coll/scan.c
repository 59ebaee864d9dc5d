// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Scan and MPI_Exscan in all forms: in place, operations of the library and of users, layouts with gaps. The first process of an
// exclusive scan gets nothing: its buffer stays as it is.
#include "reductions.h"

static struct image out, in, expected, before;
static const struct place *here;
static int in_place, op, exclusive;
static long n;

static void prepare(void) {
    wipe(&in);
    wipe(&out);
    wipe(&expected);
    wipe(&before);
    put(&out, 0, n, 0, here->me, 0);
    put(&before, 0, n, 0, here->me, 0);
    if (in_place) put(&in, 0, n, 0, here->me, 0);
    if (!exclusive || here->me)
        combine(&expected, 0, op, 0, 0, here->me + !exclusive, 0, n);
    else if (in_place)
        put(&expected, 0, n, 0, here->me, 0);
}

static void verify(void) {
    same(&in, &expected);
    same(&out, &before);
}

static void scan(const struct place *p, int which, long length, int choice, int place_in, int without) {
    here = p, op = which, n = length, in_place = place_in, exclusive = without;
    int kind = kind_with(op, n, choice), count = (int)elements(kind, n);
    in = new_image(kind, count);
    out = new_image(kind, count);
    expected = new_image(kind, count);
    before = new_image(kind, count);
    describe("%s of %ld ints, kind %d, operation %d%s, %s", exclusive ? "Exscan" : "Scan", n, kind, op,
             in_place ? ", in place" : "", p->name);
    const void *from = in_place ? MPI_IN_PLACE : out.base;
    // Not significant: rank 0 need not have a buffer.
    void *to = exclusive && !in_place && p->me == 0 && choice % 2 ? NULL : in.base;
    if (exclusive)
        CASE(Exscan, exscan, prepare(), verify(), from, to, count, type_with(op, kind), operations[op], p->comm);
    else
        CASE(Scan, scan, prepare(), verify(), from, to, count, type_with(op, kind), operations[op], p->comm);
    drop(&in);
    drop(&out);
    drop(&expected);
    drop(&before);
}

static void scans(const struct place *p) {
    static const long lengths[OPERATIONS][6] = {
        {0, 1, 7, 1000, 4097, 9000}, {0, 4, 28, 1000, 4100, 9000}, {0, 1, 28, 1001, 4096, 9000}};
    EACH_FORM for (int o = 0; o < OPERATIONS; o++) for (int l = 0; l < 6; l++) for (int i = 0; i < 4; i++)
        if (!skip(o + l)) scan(p, o, lengths[o][l], l + form + i / 2, i % 2, i / 2);
    EACH_FORM if (long_ones(p)) {
        scan(p, SUM, 65536 + 3, 0, form % 2, 0);
        scan(p, SUM, 65536 + 3, 0, form % 2, 1);
    }
    form = BLOCKING;
    for (int i = 0; i < 2; i++) {
        scan(p, MATRIX, 100000, 1, 0, i);
        scan(p, SUM, 500001, 0, 1, i);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    make_operations();
    struct place p = whole_world();
    scans(&p);
    p = backwards();
    scans(&p);
    OK(MPI_Comm_free(&p.comm));
    free_operations();
    free_kinds();
    return finish();
}
