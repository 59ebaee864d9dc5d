// ranks: 1 2 3 4 7 8
// Groups: what they contain, in which order, and every wrong argument.
#include "../check.h"

static void is(MPI_Group group, int n, const int *expected) {
    MPI_Group world;
    int length = -1, own = -1, where = MPI_UNDEFINED, ranks[64], out[64];
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(group, &length));
    CHECK_EQ(length, n);
    for (int i = 0; i < n; i++) ranks[i] = i;
    OK(MPI_Group_translate_ranks(group, n, ranks, world, out));
    for (int i = 0; i < n; i++) {
        CHECK_EQ(out[i], expected[i]);
        if (expected[i] == rank) where = i;
    }
    OK(MPI_Group_rank(group, &own));
    CHECK_EQ(own, where);
    OK(MPI_Group_free(&world));
    CHECK(world == MPI_GROUP_NULL);
}

static void compare(MPI_Group a, MPI_Group b, int expected) {
    int result = -1;
    OK(MPI_Group_compare(a, b, &result));
    CHECK_EQ(result, expected);
    OK(MPI_Group_compare(b, a, &result));
    CHECK_EQ(result, expected);
}

static void sets(MPI_Group world) {
    MPI_Group even, low, got, reversed;
    int list[64], n = 0, m = 0;
    for (int i = 0; i < size; i += 2) list[n++] = i;
    OK(MPI_Group_incl(world, n, list, &even));
    is(even, n, list);
    int half = (size + 1) / 2;
    for (int i = 0; i < half; i++) list[i] = half - 1 - i;
    OK(MPI_Group_incl(world, half, list, &low));
    is(low, half, list);

    for (m = 0; m < n; m++) list[m] = 2 * m;
    for (int i = half - 1; i >= 0; i--)
        if (i % 2) list[m++] = i;
    OK(MPI_Group_union(even, low, &got));
    is(got, m, list);
    OK(MPI_Group_free(&got));

    m = 0;
    for (int i = 0; i < half; i += 2) list[m++] = i;
    OK(MPI_Group_intersection(even, low, &got));
    is(got, m, list);
    OK(MPI_Group_free(&got));

    m = 0;
    for (int i = 0; i < size; i += 2)
        if (i >= half) list[m++] = i;
    OK(MPI_Group_difference(even, low, &got));
    is(got, m, list);
    if (m == 0) CHECK(got == MPI_GROUP_EMPTY);
    OK(MPI_Group_free(&got));
    CHECK(got == MPI_GROUP_NULL);

    for (int i = 0; i < size; i++) list[i] = size - 1 - i;
    OK(MPI_Group_incl(world, size, list, &reversed));
    is(reversed, size, list);
    compare(world, reversed, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    compare(world, world, MPI_IDENT);
    compare(even, world, size == 1 ? MPI_IDENT : MPI_UNEQUAL);
    compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, MPI_IDENT);
    compare(MPI_GROUP_EMPTY, world, MPI_UNEQUAL);
    OK(MPI_Group_union(MPI_GROUP_EMPTY, reversed, &got));
    compare(got, reversed, MPI_IDENT);
    OK(MPI_Group_free(&got));
    OK(MPI_Group_excl(reversed, 0, NULL, &got));
    compare(got, reversed, MPI_IDENT);
    OK(MPI_Group_free(&got));
    OK(MPI_Group_incl(reversed, 0, NULL, &got));
    CHECK(got == MPI_GROUP_EMPTY);
    OK(MPI_Group_excl(world, size, list, &got));
    CHECK(got == MPI_GROUP_EMPTY);
    int first = 0;
    OK(MPI_Group_excl(reversed, 1, &first, &got));
    is(got, size - 1, list + 1);
    OK(MPI_Group_free(&got));
    OK(MPI_Group_free(&even));
    OK(MPI_Group_free(&low));
    OK(MPI_Group_free(&reversed));
}

static void ranges(MPI_Group world) {
    MPI_Group got;
    int list[64], n = 0;
    int two[2][3] = {{size - 1, 1, -2}, {0, 0, 5}};
    for (int i = size - 1; i >= 1; i -= 2) list[n++] = i;
    list[n++] = 0;
    OK(MPI_Group_range_incl(world, 2, two, &got));
    is(got, n, list);
    OK(MPI_Group_free(&got));
    OK(MPI_Group_range_excl(world, 2, two, &got));
    n = 0;
    for (int i = 1; i < size; i++)
        if ((size - 1 - i) % 2) list[n++] = i;
    is(got, n, list);
    OK(MPI_Group_free(&got));
    OK(MPI_Group_range_incl(world, 0, NULL, &got));
    CHECK(got == MPI_GROUP_EMPTY);
    int nothing[1][3] = {{1, 0, 1}};
    OK(MPI_Group_range_incl(world, 1, nothing, &got));
    CHECK(got == MPI_GROUP_EMPTY);
    int zero[1][3] = {{0, 0, 0}}, beyond[1][3] = {{0, size, 1}}, twice[2][3] = {{0, 0, 1}, {0, 0, 1}};
    CHECK_ERROR(MPI_Group_range_incl(world, 1, zero, &got), MPI_ERR_ARG, "MPI_Group_range_incl");
    CHECK_ERROR(MPI_Group_range_excl(world, 1, zero, &got), MPI_ERR_ARG, "MPI_Group_range_excl");
    CHECK_ERROR(MPI_Group_range_incl(world, 1, beyond, &got), MPI_ERR_RANK, "MPI_Group_range_incl");
    CHECK_ERROR(MPI_Group_range_excl(world, 1, beyond, &got), MPI_ERR_RANK, "MPI_Group_range_excl");
    CHECK_ERROR(MPI_Group_range_incl(world, 2, twice, &got), MPI_ERR_RANK, "MPI_Group_range_incl");
    CHECK_ERROR(MPI_Group_range_incl(world, -1, twice, &got), MPI_ERR_ARG, "MPI_Group_range_incl");
}

static void errors(MPI_Group world) {
    MPI_Group got = MPI_GROUP_NULL, freed, wrong = (MPI_Group)MPI_COMM_WORLD;
    int n, out[2], bad[2] = {0, size}, twice[2] = {0, 0}, negative[1] = {-1};
    CHECK_ERROR(MPI_Group_incl(world, 2, bad, &got), MPI_ERR_RANK, "MPI_Group_incl");
    CHECK_ERROR(MPI_Group_excl(world, 2, bad, &got), MPI_ERR_RANK, "MPI_Group_excl");
    CHECK_ERROR(MPI_Group_incl(world, 2, twice, &got), MPI_ERR_RANK, "MPI_Group_incl");
    CHECK_ERROR(MPI_Group_excl(world, 2, twice, &got), MPI_ERR_RANK, "MPI_Group_excl");
    CHECK_ERROR(MPI_Group_incl(world, 1, negative, &got), MPI_ERR_RANK, "MPI_Group_incl");
    CHECK_ERROR(MPI_Group_incl(world, -1, bad, &got), MPI_ERR_ARG, "MPI_Group_incl");
    CHECK_ERROR(MPI_Group_incl(world, 1, NULL, &got), MPI_ERR_ARG, "MPI_Group_incl");
    CHECK_ERROR(MPI_Group_incl(world, 1, twice, NULL), MPI_ERR_ARG, "MPI_Group_incl");
    CHECK_ERROR(MPI_Group_translate_ranks(world, 2, bad, world, out), MPI_ERR_RANK, "MPI_Group_translate_ranks");
    CHECK_ERROR(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP, "MPI_Group_size");
    CHECK_ERROR(MPI_Group_rank(wrong, &n), MPI_ERR_GROUP, "MPI_Group_rank");
    CHECK_ERROR(MPI_Group_union(world, MPI_GROUP_NULL, &got), MPI_ERR_GROUP, "MPI_Group_union");
    CHECK_ERROR(MPI_Group_intersection(MPI_GROUP_NULL, world, &got), MPI_ERR_GROUP, "MPI_Group_intersection");
    CHECK_ERROR(MPI_Group_difference(MPI_GROUP_NULL, world, &got), MPI_ERR_GROUP, "MPI_Group_difference");
    CHECK_ERROR(MPI_Group_compare(world, MPI_GROUP_NULL, &n), MPI_ERR_GROUP, "MPI_Group_compare");
    CHECK_ERROR(MPI_Group_free(&got), MPI_ERR_GROUP, "MPI_Group_free");
    CHECK_ERROR(MPI_Comm_group(MPI_COMM_NULL, &got), MPI_ERR_COMM, "MPI_Comm_group");
    CHECK_ERROR(MPI_Comm_group(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_group");
    OK(MPI_Comm_group(MPI_COMM_SELF, &got));
    freed = got;
    OK(MPI_Group_free(&got));
    int code = MPI_Group_size(freed, &n);
    CHECK_EQ(check_class(code), MPI_ERR_GROUP);
    CHECK_TEXT(code, "freed");
    int null = MPI_PROC_NULL;
    OK(MPI_Group_translate_ranks(world, 1, &null, MPI_GROUP_EMPTY, out));
    CHECK_EQ(out[0], MPI_PROC_NULL);
    OK(MPI_Group_translate_ranks(world, 1, twice, MPI_GROUP_EMPTY, out));
    CHECK_EQ(out[0], MPI_UNDEFINED);
}

int main(int argc, char **argv) {
    MPI_Group world, own;
    int all[64];
    start(&argc, &argv);
    return_errors();
    for (int i = 0; i < size; i++) all[i] = i;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    is(world, size, all);
    OK(MPI_Comm_group(MPI_COMM_SELF, &own));
    is(own, 1, &rank);
    is(MPI_GROUP_EMPTY, 0, NULL);
    CHECK(MPI_Group_fromint(MPI_Group_toint(own)) == own);
    sets(world);
    ranges(world);
    errors(world);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&own));
    return finish();
}
