// ranks: 1 2 3 4 7 8
// Splitting by color and key, into one, into many, into none; create and create_group; what the parts inherit.
#include "../check.h"

// Each process of comm passes its world rank round; all receive all of them, in the order of ranks
// in comm.
static void members(MPI_Comm comm, int *world_ranks) {
    int r, n;
    OK(MPI_Comm_rank(comm, &r));
    OK(MPI_Comm_size(comm, &n));
    for (int i = 0; i < n; i++) world_ranks[i] = -1;
    world_ranks[r] = rank;
    for (int step = 1; step < n; step++) {
        int to = (r + step) % n, from = (r + n - step) % n;
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 3, &world_ranks[from], 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE));
    }
}

// key_of(r) and color_of(r) of every world rank, as a model of what must come out.
static void split(const int *colors, const int *keys) {
    MPI_Comm part = MPI_COMM_WORLD;
    int expected[64], got[64], n = 0, count = -1, own = -1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, colors[rank], keys[rank], &part));
    if (colors[rank] == MPI_UNDEFINED) {
        CHECK(part == MPI_COMM_NULL);
        return;
    }
    for (int i = 0; i < size; i++)
        if (colors[i] == colors[rank]) {
            int at = n++;
            while (at > 0 && keys[expected[at - 1]] > keys[i]) {
                expected[at] = expected[at - 1];
                at--;
            }
            expected[at] = i;
        }
    OK(MPI_Comm_size(part, &count));
    CHECK_EQ(count, n);
    OK(MPI_Comm_rank(part, &own));
    CHECK_EQ(expected[own], rank);
    members(part, got);
    for (int i = 0; i < n; i++) CHECK_EQ(got[i], expected[i]);
    OK(MPI_Barrier(part));
    OK(MPI_Comm_free(&part));
}

static void splits(void) {
    int colors[64], keys[64];
    unsigned seed = 12345;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < size; i++) {
            seed = seed * 1103515245u + 12345u;
            colors[i] = (int)(seed >> 16) % (1 + round % 5);
            if (round % 7 == 3 && colors[i] == 0) colors[i] = MPI_UNDEFINED;
            if (round % 7 == 5) colors[i] = INT_MAX - colors[i];
            seed = seed * 1103515245u + 12345u;
            keys[i] = round % 3 == 0 ? 0 : (int)(seed >> 16) % 5 - 2;
            if (round == 58) keys[i] = i % 2 ? INT_MIN : INT_MAX;
        }
        split(colors, keys);
    }
    for (int i = 0; i < size; i++) colors[i] = MPI_UNDEFINED, keys[i] = 0;
    split(colors, keys);
    for (int i = 0; i < size; i++) colors[i] = i, keys[i] = -i;
    split(colors, keys);
}

static void create(int in_group) {
    MPI_Group world, even, odd, all;
    MPI_Comm comm = MPI_COMM_WORLD;
    int got[64], list[64], result = -1, n = 0;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    // The even ranks backwards in one, the odd ones in another, both in one call.
    for (int i = (size - 1) / 2 * 2; i >= 0; i -= 2) list[n++] = i;
    OK(MPI_Group_incl(world, n, list, &even));
    OK(MPI_Group_excl(world, n, list, &odd));
    if (in_group) {
        if (rank % 2 == 0) OK(MPI_Comm_create_group(MPI_COMM_WORLD, even, tag_upper_bound(), &comm));
        else OK(MPI_Comm_create_group(MPI_COMM_WORLD, odd, 0, &comm));
    } else {
        OK(MPI_Comm_create(MPI_COMM_WORLD, rank % 2 ? odd : even, &comm));
    }
    members(comm, got);
    OK(MPI_Comm_group(comm, &all));
    OK(MPI_Group_compare(all, rank % 2 ? odd : even, &result));
    CHECK_EQ(result, MPI_IDENT);
    for (int i = 0; rank % 2 == 0 && i < n; i++) CHECK_EQ(got[i], list[i]);
    OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &result));
    CHECK_EQ(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&all));
    // A process that is not in the group gets nothing.
    if (in_group) {
        if (rank % 2 == 0 || rank == 1) OK(MPI_Comm_create_group(MPI_COMM_WORLD, even, 1, &comm));
    } else {
        OK(MPI_Comm_create(MPI_COMM_WORLD, even, &comm));
    }
    if (rank % 2 == 0) {
        OK(MPI_Barrier(comm));
        OK(MPI_Comm_free(&comm));
    } else {
        CHECK(comm == MPI_COMM_NULL || (in_group && rank != 1));
    }
    OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
    CHECK(comm == MPI_COMM_NULL);
    // Similar: the same processes in another order.
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm));
    OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &result));
    CHECK_EQ(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&even));
    OK(MPI_Group_free(&odd));
}

// Groups that overlap, made in an order that only the messages of the right pair can serve.
static void overlapping(void) {
    MPI_Group world, pair;
    MPI_Comm left = MPI_COMM_NULL, right = MPI_COMM_NULL;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int round = 0; round < 20; round++) {
        // The pairs (i, i + 1), named from the higher or the lower end, all with the same tag.
        for (int side = 0; side < 2; side++) {
            int other = side == 0 ? rank - 1 : rank + 1, low = side == 0 ? other : rank;
            if (other < 0 || other >= size) continue;
            int list[2] = {low + (round + low) % 2, low + 1 - (round + low) % 2};
            OK(MPI_Group_incl(world, 2, list, &pair));
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, pair, 7, side == 0 ? &left : &right));
            OK(MPI_Group_free(&pair));
        }
        int got = -1, own, out = 100 * round + rank;
        if (left != MPI_COMM_NULL) {
            OK(MPI_Comm_rank(left, &own));
            OK(MPI_Sendrecv(&out, 1, MPI_INT, 1 - own, 1, &got, 1, MPI_INT, 1 - own, 1, left, MPI_STATUS_IGNORE));
            CHECK_EQ(got, 100 * round + rank - 1);
            OK(MPI_Comm_free(&left));
        }
        if (right != MPI_COMM_NULL) {
            OK(MPI_Comm_rank(right, &own));
            OK(MPI_Sendrecv(&out, 1, MPI_INT, 1 - own, 1, &got, 1, MPI_INT, 1 - own, 1, right, MPI_STATUS_IGNORE));
            CHECK_EQ(got, 100 * round + rank + 1);
            OK(MPI_Comm_free(&right));
        }
    }
    OK(MPI_Group_free(&world));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    splits();
    create(0);
    create(1);
    overlapping();
    // A part of a part of a part.
    MPI_Comm comm = MPI_COMM_SELF, next;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (;;) {
        int r, n;
        OK(MPI_Comm_rank(comm, &r));
        OK(MPI_Comm_size(comm, &n));
        if (n == 1) break;
        OK(MPI_Comm_split(comm, r < n / 2, 0, &next));
        OK(MPI_Comm_free(&comm));
        comm = next;
        OK(MPI_Barrier(comm));
    }
    OK(MPI_Comm_free(&comm));
    return finish();
}
