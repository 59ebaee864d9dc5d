// ranks: 1 2 3 4 5 6 7 8 9
// cflags: -O2
// MPI_Bcast in all forms: every root, odd lengths, different layouts on the two sides, both kinds of communicators.
#include "coll.h"

static struct image mine, expected;
static struct roles role;
static int side, root;
static long n;

static void prepare(void) {
    wipe(&mine);
    wipe(&expected);
    if (role.is_root) put(&mine, 0, n, side, root, 0);
    if (role.is_root || role.takes_part) put(&expected, 0, n, side, root, 0);
}

static void one(const struct place *p, int which, int choice) {
    root_at(p, which, &side, &root);
    role = roles(p, side, root);
    int kind = kind_for(n, choice < 0 ? -1 : choice + p->me + 3 * p->group);
    mine = new_image(kind, elements(kind, n));
    expected = new_image(kind, elements(kind, n));
    describe("Bcast of %ld ints, kind %d, root %d of group %d, %s", n, kind, root, side, p->name);
    CASE(Bcast, bcast, prepare(), same(&mine, &expected), mine.base, (int)elements(kind, n), kinds[kind].type,
         role.argument, p->comm);
    drop(&mine);
    drop(&expected);
}

static void broadcasts(const struct place *p) {
    static const long lengths[] = {0, 1, 7, 28, 1000, 4097, 4100};
    EACH_FORM for (int i = 0; i < roots(p); i++) for (int l = 0; l < 7; l++) {
        if (skip(i + l)) continue;
        n = lengths[l];
        one(p, i, i + l + form);
    }
    static const long longer[] = {65536 + 3, 65536 + 4, 300000};
    EACH_FORM for (int l = 0; l < 3 && long_ones(p); l++) {
        n = longer[l];
        one(p, (form + l) % roots(p), l ? form + l : -1);
    }
}

// Some MiB of bytes.
static void large(void) {
    int count = (3 << 20) + 5;
    unsigned char *bytes = get_memory((size_t)count);
    form = BLOCKING;
    for (int r = 0; r < size; r += 3) {
        describe("Bcast of %d bytes, root %d", count, r);
        memset(bytes, 0, (size_t)count);
        if (rank == r) fill(bytes, (size_t)count, (unsigned)r + 1);
        OK(MPI_Bcast(bytes, count, MPI_BYTE, r, MPI_COMM_WORLD));
        CHECK_PATTERN(bytes, count, r + 1);
    }
    free(bytes);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    make_kinds();
    everywhere(broadcasts);
    large();
    free_kinds();
    return finish();
}
