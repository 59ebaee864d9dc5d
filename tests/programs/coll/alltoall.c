// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw in all forms: in place, different layouts on the two sides and, for the last, for every
// pair; irregular counts, gaps that stay as they were, both kinds of communicators.
#include "coll.h"

enum { MOST = 16 };
static struct image out, in, expected;
static int in_place, me, group, many, other;

// How many ints `i` of group g sends to `j`.
static int scheme;
static long unit;
static long length(int g, int i, int j) {
    if (scheme == 0) return unit * (g ? 2 : 1);
    if (in_place && i > j) return length(g, j, i); // in place needs the same in both directions
    return (i + 2 * j + scheme) % 3 == 1 ? 0 : unit * ((i + j + g) % 3 + 1);
}

// Blocks lie in an order of their own, with gaps: at[i] in elements. Returns the room.
static long lay_out(int kind, int receiving, long *at) {
    long next = scheme ? 1 : 0;
    for (int k = 0; k < many; k++) {
        int i = scheme ? (k * (many - 1) + me) % many : k;
        at[i] = next;
        next += elements(kind, receiving ? length(other, i, me) : length(group, me, i)) + (scheme ? (i + me) % 2 : 0);
    }
    return next + 1;
}

static long to[MOST], from[MOST];

static void prepare(void) {
    wipe(&in);
    wipe(&expected);
    for (int i = 0; i < many; i++) {
        put(&out, to[i], length(group, me, i), group, me, i);
        put(&expected, from[i], length(other, i, me), other, i, me);
        if (in_place) put(&in, from[i], length(group, me, i), group, me, i);
    }
}

static void begin(const struct place *p, long n, int which, int place_in, int mine, int theirs) {
    me = p->me, group = p->group, many = p->from, other = p->inter ? 1 - group : group;
    in_place = place_in && !p->inter, unit = n, scheme = which;
    out = new_image(mine, lay_out(mine, 0, to));
    in = new_image(theirs, lay_out(theirs, 1, from));
    expected = new_image(theirs, in.ints / kinds[theirs].extent);
    expected.ints = in.ints;
}

static void end(void) {
    drop(&out);
    drop(&in);
    drop(&expected);
}

static void alltoall(const struct place *p, long n, int choice, int place_in) {
    // In place all use one layout: data that is sent and received must have the same type map.
    int mine = kind_for(n, choice < 0 ? -1 : choice + p->me);
    int theirs = kind_for(n, choice < 0 ? -1 : place_in ? choice : choice + 2 * p->me);
    begin(p, n, 0, place_in, mine, theirs);
    describe("Alltoall of %ld ints, kinds %d to %d%s, %s", n, mine, theirs, in_place ? ", in place" : "", p->name);
    int receive = (int)elements(theirs, length(other, 0, me));
    if (in_place)
        CASE(Alltoall, alltoall, prepare(), same(&in, &expected), MPI_IN_PLACE, -4, MPI_DATATYPE_NULL, in.base, receive,
             kinds[theirs].type, p->comm);
    else
        CASE(Alltoall, alltoall, prepare(), same(&in, &expected), out.base, (int)elements(mine, length(group, me, 0)),
             kinds[mine].type, in.base, receive, kinds[theirs].type, p->comm);
    end();
}

static int counts[2][MOST], displs[2][MOST];
static MPI_Count counts_c[2][MOST];
static MPI_Aint displs_c[2][MOST];

static void set_counts(int mine, int theirs, int scale) {
    for (int i = 0; i < many; i++) {
        counts_c[0][i] = elements(mine, length(group, me, i));
        counts_c[1][i] = elements(theirs, length(other, i, me));
        displs_c[0][i] = to[i] * (scale ? kinds[mine].extent * scale : 1);
        displs_c[1][i] = from[i] * (scale ? kinds[theirs].extent * scale : 1);
        for (int k = 0; k < 2; k++) counts[k][i] = (int)counts_c[k][i], displs[k][i] = (int)displs_c[k][i];
    }
}

static void alltoallv(const struct place *p, long n, int choice, int place_in) {
    int mine = kind_for(n, choice < 0 ? -1 : choice + 3 * p->me);
    int theirs = kind_for(n, choice < 0 ? -1 : place_in ? choice : choice + p->me);
    begin(p, n, 1 + (choice + 1) % 3, place_in, mine, theirs);
    set_counts(mine, theirs, 0);
    describe("Alltoallv around %ld ints, kinds %d to %d%s, %s", n, mine, theirs, in_place ? ", in place" : "", p->name);
    if (in_place)
        CASE_V(Alltoallv, alltoallv, prepare(), same(&in, &expected),
               (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in.base, counts[1], displs[1], kinds[theirs].type, p->comm),
               (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in.base, counts_c[1], displs_c[1], kinds[theirs].type, p->comm));
    else
        CASE_V(Alltoallv, alltoallv, prepare(), same(&in, &expected),
               (out.base, counts[0], displs[0], kinds[mine].type, in.base, counts[1], displs[1], kinds[theirs].type, p->comm),
               (out.base, counts_c[0], displs_c[0], kinds[mine].type, in.base, counts_c[1], displs_c[1], kinds[theirs].type,
                p->comm));
    end();
}

static void alltoallw(const struct place *p, long n, int choice, int place_in) {
    int mine = kind_for(n, choice < 0 ? -1 : choice + 3 * p->me);
    int theirs = kind_for(n, choice < 0 ? -1 : place_in ? choice : choice + p->me);
    begin(p, n, 1 + (choice + 1) % 3, place_in, mine, theirs);
    set_counts(mine, theirs, (int)sizeof(int));
    MPI_Datatype types[2][MOST];
    for (int i = 0; i < many; i++) {
        types[0][i] = kinds[mine].type, types[1][i] = kinds[theirs].type;
        // For some pairs the whole block is one element of a type of its own.
        if ((i + me) % 2) {
            OK(MPI_Type_contiguous(counts[0][i], types[0][i], &types[0][i]));
            OK(MPI_Type_commit(&types[0][i]));
            counts[0][i] = 1, counts_c[0][i] = 1;
            if (!in_place) {
                OK(MPI_Type_contiguous(counts[1][i], types[1][i], &types[1][i]));
                OK(MPI_Type_commit(&types[1][i]));
                counts[1][i] = 1, counts_c[1][i] = 1;
            }
        }
    }
    describe("Alltoallw around %ld ints, kinds %d to %d%s, %s", n, mine, theirs, in_place ? ", in place" : "", p->name);
    if (in_place)
        CASE_V(Alltoallw, alltoallw, prepare(), same(&in, &expected),
               (MPI_IN_PLACE, NULL, NULL, NULL, in.base, counts[1], displs[1], types[1], p->comm),
               (MPI_IN_PLACE, NULL, NULL, NULL, in.base, counts_c[1], displs_c[1], types[1], p->comm));
    else
        CASE_V(Alltoallw, alltoallw, prepare(), same(&in, &expected),
               (out.base, counts[0], displs[0], types[0], in.base, counts[1], displs[1], types[1], p->comm),
               (out.base, counts_c[0], displs_c[0], types[0], in.base, counts_c[1], displs_c[1], types[1], p->comm));
    for (int i = 0; i < many; i++)
        for (int k = 0; k < 2; k++)
            if (types[k][i] != (k ? kinds[theirs] : kinds[mine]).type) OK(MPI_Type_free(&types[k][i]));
    end();
}

static void exchanges(const struct place *p) {
    static const long lengths[] = {0, 1, 7, 28, 1000, 4097};
    EACH_FORM for (int i = 0; i < 3; i++) for (int l = 0; l < 6; l++) {
        if (skip(i + l)) continue;
        alltoall(p, lengths[l], i ? 3 * i + l + form : -1, i % 2);
        alltoallv(p, lengths[l], i ? 5 * i + l + form : -1, i % 2);
        alltoallw(p, lengths[l], i ? 7 * i + l + form : -1, i % 2);
    }
    EACH_FORM if (long_ones(p)) {
        alltoall(p, 32768 + 3, -1, form % 3 == 0);
        alltoallv(p, 10000 + 4, form, form % 3 == 1);
    }
    form = BLOCKING;
    if (!p->inter) alltoall(p, 60000, 2, 0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    everywhere(exchanges);
    free_kinds();
    return finish();
}
