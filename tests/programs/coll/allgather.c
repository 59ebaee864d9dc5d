// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Allgather and MPI_Allgatherv in all forms: in place, different layouts on the two sides, irregular counts, gaps that stay as they
// were, both kinds of communicators (of different lengths in the two directions there).
#include "coll.h"

enum { MOST = 16 };
static struct image out, in, expected;
static int in_place, me, group, many, other;
static long length[2][MOST], at[MOST]; // what each of a group sends, in ints; where it goes here, in elements

static void prepare(void) {
    wipe(&in);
    wipe(&expected);
    put(&out, 0, length[group][me], group, me, 0);
    for (int i = 0; i < many; i++) put(&expected, at[i], length[other][i], other, i, 0);
    if (in_place) put(&in, at[me], length[group][me], group, me, 0);
}

static void begin(const struct place *p, int place_in) {
    me = p->me, group = p->group, many = p->from, other = p->inter ? 1 - group : group;
    in_place = place_in && !p->inter;
}

static void allgather(const struct place *p, long n, int choice, int place_in) {
    begin(p, place_in);
    int mine = kind_for(n, choice < 0 ? -1 : choice + p->me), theirs = kind_for(n, choice < 0 ? -1 : choice + 2 * p->me);
    // The group on the right sends twice as much.
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < MOST; i++) length[g][i] = n * (p->inter && g ? 2 : 1);
    long block = elements(theirs, length[other][0]);
    for (int i = 0; i < MOST; i++) at[i] = i * block;
    out = new_image(mine, elements(mine, length[group][me]));
    in = new_image(theirs, block * many);
    expected = new_image(theirs, block * many);
    describe("Allgather of %ld ints, kinds %d to %d%s, %s", n, mine, theirs, in_place ? ", in place" : "", p->name);
    if (in_place)
        CASE(Allgather, allgather, prepare(), same(&in, &expected), MPI_IN_PLACE, -4, MPI_DATATYPE_NULL, in.base,
             (int)block, kinds[theirs].type, p->comm);
    else
        CASE(Allgather, allgather, prepare(), same(&in, &expected), out.base, (int)elements(mine, length[group][me]),
             kinds[mine].type, in.base, (int)block, kinds[theirs].type, p->comm);
    drop(&out);
    drop(&in);
    drop(&expected);
}

static void allgatherv(const struct place *p, long n, int choice, int place_in) {
    begin(p, place_in);
    int counts[MOST], displs[MOST], theirs = kind_for(n, choice < 0 ? -1 : choice + p->me);
    int mine = kind_for(n, choice < 0 ? -1 : choice + 3 * p->me);
    MPI_Count counts_c[MOST];
    MPI_Aint displs_c[MOST];
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < MOST; i++) length[g][i] = (i + choice) % 3 == g ? 0 : n * ((i + g) % 4 + 1);
    // Each process puts the blocks somewhere else: the order turns with the rank.
    long next = 1;
    for (int k = 0; k < many; k++) {
        int i = (k * (many - 1) + me) % many;
        at[i] = next;
        next += elements(theirs, length[other][i]) + (i + me) % 2;
        counts[i] = (int)elements(theirs, length[other][i]), counts_c[i] = counts[i];
        displs[i] = (int)at[i], displs_c[i] = at[i];
    }
    out = new_image(mine, elements(mine, length[group][me]));
    in = new_image(theirs, next + 1);
    expected = new_image(theirs, next + 1);
    describe("Allgatherv around %ld ints, kinds %d to %d%s, %s", n, mine, theirs, in_place ? ", in place" : "", p->name);
    const void *from = in_place ? MPI_IN_PLACE : out.base;
    int count = in_place ? -4 : (int)elements(mine, length[group][me]);
    MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : kinds[mine].type;
    CASE_V(Allgatherv, allgatherv, prepare(), same(&in, &expected),
           (from, count, type, in.base, counts, displs, kinds[theirs].type, p->comm),
           (from, count, type, in.base, counts_c, displs_c, kinds[theirs].type, p->comm));
    drop(&out);
    drop(&in);
    drop(&expected);
}

static void allgathers(const struct place *p) {
    static const long lengths[] = {0, 1, 7, 28, 1000, 4097};
    EACH_FORM for (int i = 0; i < 4; i++) for (int l = 0; l < 6; l++) {
        if (skip(i + l)) continue;
        allgather(p, lengths[l], i ? 7 * i + l + form : -1, i % 2);
        allgatherv(p, lengths[l], i ? 5 * i + l + form : -1, i % 2);
    }
    EACH_FORM if (long_ones(p)) {
        allgather(p, 65536 + 3, -1, form % 3 == 0);
        allgatherv(p, 10000 + 4, form, form % 3 == 1);
    }
    form = BLOCKING;
    if (!p->inter) allgather(p, 100000, 2, 0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    everywhere(allgathers);
    free_kinds();
    return finish();
}
