// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Gather and MPI_Gatherv in all forms: every root, in place, different layouts on the two sides, irregular counts, gaps that
// stay as they were, both kinds of communicators. Arguments that are not significant have invalid values.
#include "coll.h"

enum { MOST = 16 };
static struct image out, in, expected;
static struct roles role;
static int side, root, in_place, me, group;
static long length[MOST], at[MOST]; // what each sends, in ints; where it goes, in elements of the root's kind

static void prepare(void) {
    int sender = 1 - side;
    wipe(&in);
    wipe(&expected);
    if (role.takes_part) put(&out, 0, length[me], group, me, root);
    if (!role.is_root) return;
    for (int i = 0; i < role.many; i++) put(&expected, at[i], length[i], role.takes_part ? 0 : sender, i, root);
    if (in_place) put(&in, at[me], length[me], 0, me, root);
}

static void gather(const struct place *p, int which, long n, int choice, int place_in) {
    root_at(p, which, &side, &root);
    role = roles(p, side, root);
    me = p->me, group = p->group, in_place = place_in && role.is_root && !p->inter;
    int mine = kind_for(n, choice < 0 ? -1 : choice + p->me + p->group), theirs = kind_for(n, choice);
    long block = elements(theirs, n);
    for (int i = 0; i < MOST; i++) length[i] = n, at[i] = i * block;
    out = new_image(mine, elements(mine, n));
    in = new_image(theirs, block * role.many);
    expected = new_image(theirs, block * role.many);
    describe("Gather of %ld ints, kinds %d to %d%s, root %d of group %d, %s", n, mine, theirs,
             in_place ? ", in place" : "", root, side, p->name);
    const void *from = in_place ? MPI_IN_PLACE : role.takes_part ? out.base : NULL;
    int count = in_place ? -3 : role.takes_part ? (int)elements(mine, n) : 0;
    MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : role.takes_part ? kinds[mine].type : MPI_INT;
    if (role.is_root)
        CASE(Gather, gather, prepare(), same(&in, &expected), from, count, type, in.base, (int)block, kinds[theirs].type,
             role.argument, p->comm);
    else
        CASE(Gather, gather, prepare(), same(&in, &expected), from, count, type, NULL, -7, MPI_DATATYPE_NULL,
             role.argument, p->comm);
    drop(&out);
    drop(&in);
    drop(&expected);
}

static void gatherv(const struct place *p, int which, long n, int choice, int place_in) {
    root_at(p, which, &side, &root);
    role = roles(p, side, root);
    me = p->me, group = p->group, in_place = place_in && role.is_root && !p->inter;
    // Every third sends nothing; the blocks lie in reverse order, with gaps. All lengths are multiples of 4 where n is.
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
    out = new_image(mine, elements(mine, length[me]));
    in = new_image(theirs, next + 2);
    expected = new_image(theirs, next + 2);
    describe("Gatherv around %ld ints, kinds %d to %d%s, root %d of group %d, %s", n, mine, theirs,
             in_place ? ", in place" : "", root, side, p->name);
    const void *from = in_place ? MPI_IN_PLACE : role.takes_part ? out.base : NULL;
    int count = in_place ? -3 : role.takes_part ? (int)elements(mine, length[me]) : 0;
    MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : role.takes_part ? kinds[mine].type : MPI_INT;
    if (role.is_root)
        CASE_V(Gatherv, gatherv, prepare(), same(&in, &expected),
               (from, count, type, in.base, counts, displs, kinds[theirs].type, role.argument, p->comm),
               (from, count, type, in.base, counts_c, displs_c, kinds[theirs].type, role.argument, p->comm));
    else
        CASE(Gatherv, gatherv, prepare(), same(&in, &expected), from, count, type, NULL, NULL, NULL, MPI_DATATYPE_NULL,
             role.argument, p->comm);
    drop(&out);
    drop(&in);
    drop(&expected);
}

static void gathers(const struct place *p) {
    static const long lengths[] = {0, 1, 7, 28, 1000, 4097};
    EACH_FORM for (int i = 0; i < roots(p); i++) for (int l = 0; l < 6; l++) {
        if (skip(i + l)) continue;
        gather(p, i, lengths[l], i + l + form, (i + l + form) % 2);
        gatherv(p, i, lengths[l], i + l + form, (i + l) % 2);
    }
    EACH_FORM if (long_ones(p)) {
        gather(p, form % roots(p), 65536 + 3, -1, form % 3 == 0);
        gatherv(p, (form + 1) % roots(p), 10000 + 4, form, form % 3 == 1);
    }
    form = BLOCKING;
    gather(p, roots(p) - 1, 300000, 2, 0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    everywhere(gathers);
    free_kinds();
    return finish();
}
