// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Scatter and MPI_Scatterv in all forms: every root, in place, different layouts on the two sides, irregular counts, both kinds of
// communicators. Arguments that are not significant have invalid values.
#include "coll.h"

enum { MOST = 16 };
static struct image out, in, expected, before;
static struct roles role;
static int side, root, in_place, me;
static long length[MOST], at[MOST]; // what each gets, in ints; where it lies, in elements of the root's kind

static void prepare(void) {
    wipe(&in);
    wipe(&expected);
    wipe(&out);
    wipe(&before);
    if (role.is_root)
        for (int i = 0; i < role.many; i++) {
            put(&out, at[i], length[i], side, root, i);
            put(&before, at[i], length[i], side, root, i);
        }
    if (role.takes_part && !in_place) put(&expected, 0, length[me], side, root, me);
}

static void verify(void) {
    same(&in, &expected);
    same(&out, &before);
}

static void images(int mine, int theirs, long all) {
    in = new_image(mine, elements(mine, length[me]));
    expected = new_image(mine, elements(mine, length[me]));
    out = new_image(theirs, all);
    before = new_image(theirs, all);
}

static void drop_images(void) {
    drop(&in);
    drop(&expected);
    drop(&out);
    drop(&before);
}

static void scatter(const struct place *p, int which, long n, int choice, int place_in) {
    root_at(p, which, &side, &root);
    role = roles(p, side, root);
    me = p->me, in_place = place_in && role.is_root && !p->inter;
    int mine = kind_for(n, choice < 0 ? -1 : choice + p->me + p->group), theirs = kind_for(n, choice);
    long block = elements(theirs, n);
    for (int i = 0; i < MOST; i++) length[i] = n, at[i] = i * block;
    images(mine, theirs, block * role.many);
    describe("Scatter of %ld ints, kinds %d to %d%s, root %d of group %d, %s", n, theirs, mine,
             in_place ? ", in place" : "", root, side, p->name);
    void *to = in_place ? MPI_IN_PLACE : role.takes_part ? in.base : NULL;
    int count = in_place ? -3 : role.takes_part ? (int)elements(mine, n) : 0;
    MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : role.takes_part ? kinds[mine].type : MPI_INT;
    if (role.is_root)
        CASE(Scatter, scatter, prepare(), verify(), out.base, (int)block, kinds[theirs].type, to, count, type,
             role.argument, p->comm);
    else
        CASE(Scatter, scatter, prepare(), verify(), NULL, -7, MPI_DATATYPE_NULL, to, count, type, role.argument, p->comm);
    drop_images();
}

static void scatterv(const struct place *p, int which, long n, int choice, int place_in) {
    root_at(p, which, &side, &root);
    role = roles(p, side, root);
    me = p->me, in_place = place_in && role.is_root && !p->inter;
    // Every third gets nothing; the blocks lie in reverse order, with gaps.
    int counts[MOST], displs[MOST], theirs = kind_for(n, choice);
    MPI_Count counts_c[MOST];
    MPI_Aint displs_c[MOST];
    for (int i = 0; i < MOST; i++) length[i] = (i + which) % 3 == 1 ? 0 : n * (i % 4 + 1);
    long next = 2;
    for (int i = role.many - 1; i >= 0; i--) {
        at[i] = next;
        next += elements(theirs, length[i]) + i % 2;
        counts[i] = (int)elements(theirs, length[i]), counts_c[i] = counts[i];
        displs[i] = (int)at[i], displs_c[i] = at[i];
    }
    int mine = kind_for(n, choice < 0 ? -1 : choice + 2 * p->me + p->group);
    images(mine, theirs, next + 2);
    describe("Scatterv around %ld ints, kinds %d to %d%s, root %d of group %d, %s", n, theirs, mine,
             in_place ? ", in place" : "", root, side, p->name);
    void *to = in_place ? MPI_IN_PLACE : role.takes_part ? in.base : NULL;
    int count = in_place ? -3 : role.takes_part ? (int)elements(mine, length[me]) : 0;
    MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : role.takes_part ? kinds[mine].type : MPI_INT;
    if (role.is_root)
        CASE_V(Scatterv, scatterv, prepare(), verify(),
               (out.base, counts, displs, kinds[theirs].type, to, count, type, role.argument, p->comm),
               (out.base, counts_c, displs_c, kinds[theirs].type, to, count, type, role.argument, p->comm));
    else
        CASE(Scatterv, scatterv, prepare(), verify(), NULL, NULL, NULL, MPI_DATATYPE_NULL, to, count, type,
             role.argument, p->comm);
    drop_images();
}

static void scatters(const struct place *p) {
    static const long lengths[] = {0, 1, 7, 28, 1000, 4097};
    EACH_FORM for (int i = 0; i < roots(p); i++) for (int l = 0; l < 6; l++) {
        if (skip(i + l)) continue;
        scatter(p, i, lengths[l], i + l + form, (i + l + form) % 2);
        scatterv(p, i, lengths[l], i + l + form, (i + l) % 2);
    }
    EACH_FORM if (long_ones(p)) {
        scatter(p, form % roots(p), 65536 + 3, -1, form % 3 == 0);
        scatterv(p, (form + 1) % roots(p), 10000 + 4, form, form % 3 == 1);
    }
    form = BLOCKING;
    scatter(p, roots(p) - 1, 300000, 2, 0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    everywhere(scatters);
    free_kinds();
    return finish();
}
