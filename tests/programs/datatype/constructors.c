// ranks: 1
// Every constructor in both forms: where the entries lie, and what the bounds are.
#include "layout.h"

// The same type made by the int and by the count form.
#define BOTH(name, small, large, size, lb, extent, true_lb, true_extent, ...)    \
    do {                                                                         \
        MPI_Datatype name = MPI_DATATYPE_NULL;                                   \
        OK(small);                                                               \
        CHECK_BOUNDS(name, size, lb, extent, true_lb, true_extent);              \
        CHECK_INTS(committed(name), __VA_ARGS__);                                \
        OK(MPI_Type_free(&name));                                                \
        CHECK(name == MPI_DATATYPE_NULL);                                        \
        OK(large);                                                               \
        CHECK_BOUNDS(name, size, lb, extent, true_lb, true_extent);              \
        CHECK_INTS(committed(name), __VA_ARGS__);                                \
        OK(MPI_Type_free(&name));                                                \
    } while (0)

static void simple(void) {
    BOTH(t, MPI_Type_contiguous(3, MPI_INT, &t), MPI_Type_contiguous_c(3, MPI_INT, &t), 12, 0, 12, 0, 12, 0, 1, 2);
    BOTH(t, MPI_Type_vector(3, 2, 4, MPI_INT, &t), MPI_Type_vector_c(3, 2, 4, MPI_INT, &t), 24, 0, 40, 0, 40, 0, 1, 4,
         5, 8, 9);
    BOTH(t, MPI_Type_vector(3, 1, -2, MPI_INT, &t), MPI_Type_vector_c(3, 1, -2, MPI_INT, &t), 12, -16, 20, -16, 20, 0,
         -2, -4);
    BOTH(t, MPI_Type_create_hvector(2, 2, 24, MPI_INT, &t), MPI_Type_create_hvector_c(2, 2, 24, MPI_INT, &t), 16, 0, 32,
         0, 32, 0, 1, 6, 7);

    int lens[] = {2, 0, 1}, disps[] = {4, 100, -3};
    MPI_Count lens_c[] = {2, 0, 1}, disps_c[] = {4, 100, -3}, bytes_c[] = {16, 400, -12};
    MPI_Aint bytes[] = {16, 400, -12};
    BOTH(t, MPI_Type_indexed(3, lens, disps, MPI_INT, &t), MPI_Type_indexed_c(3, lens_c, disps_c, MPI_INT, &t), 12, -12,
         36, -12, 36, 4, 5, -3);
    BOTH(t, MPI_Type_create_hindexed(3, lens, bytes, MPI_INT, &t),
         MPI_Type_create_hindexed_c(3, lens_c, bytes_c, MPI_INT, &t), 12, -12, 36, -12, 36, 4, 5, -3);
    BOTH(t, MPI_Type_create_indexed_block(2, 2, disps, MPI_INT, &t),
         MPI_Type_create_indexed_block_c(2, 2, disps_c, MPI_INT, &t), 16, 16, 392, 16, 392, 4, 5, 100, 101);
    BOTH(t, MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &t),
         MPI_Type_create_hindexed_block_c(2, 2, bytes_c, MPI_INT, &t), 16, 16, 392, 16, 392, 4, 5, 100, 101);

    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_INT};
    BOTH(t, MPI_Type_create_struct(3, lens, bytes, types, &t), MPI_Type_create_struct_c(3, lens_c, bytes_c, types, &t),
         12, -12, 36, -12, 36, 4, 5, -3);
    BOTH(t, MPI_Type_create_resized(MPI_INT, -3, 9, &t), MPI_Type_create_resized_c(MPI_INT, -3, 9, &t), 4, -3, 9, 0, 4,
         0);

    MPI_Datatype copy;
    OK(MPI_Type_create_resized(MPI_INT, -4, 12, &types[0]));
    OK(MPI_Type_dup(types[0], &copy));
    CHECK_BOUNDS(copy, 4, -4, 12, 0, 4);
    // Not committed, like the original; the copy of a committed one is.
    int buf[4] = {7, 7, 7, 7}, position = 0, packed = 0;
    CHECK_CLASS(MPI_Pack(buf, 1, copy, &packed, 4, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_commit(&types[0]));
    OK(MPI_Type_commit(&types[0]));
    OK(MPI_Type_dup(types[0], &copy));
    OK(MPI_Type_free(&types[0]));
    OK(MPI_Pack(buf + 1, 1, copy, &packed, 4, &position, MPI_COMM_SELF));
    CHECK_EQ(packed, 7);
    OK(MPI_Type_free(&copy));
}

// A struct is padded so that an array of it is aligned; markers override that, and replications keep them.
static void bounds(void) {
    struct {
        double d;
        char c;
    } pair;
    int lens[] = {1, 1};
    MPI_Aint disps[] = {0, 8};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR}, member, three, spread, resized, nothing;
    OK(MPI_Type_create_struct(2, lens, disps, types, &member));
    CHECK_BOUNDS(member, 9, 0, (int)sizeof pair, 0, 9);
    OK(MPI_Type_contiguous(3, member, &three));
    CHECK_BOUNDS(three, 27, 0, 48, 0, 41);
    OK(MPI_Type_vector(2, 3, 4, member, &spread));
    CHECK_BOUNDS(spread, 54, 0, 112, 0, 105);
    OK(MPI_Type_create_resized(MPI_INT, -3, 9, &resized));
    MPI_Datatype two;
    OK(MPI_Type_contiguous(2, resized, &two));
    CHECK_BOUNDS(two, 8, -3, 18, 0, 13);
    MPI_Datatype mixed[] = {resized, MPI_DOUBLE}, outer;
    MPI_Aint far[] = {0, 96};
    OK(MPI_Type_create_struct(2, lens, far, mixed, &outer));
    CHECK_BOUNDS(outer, 12, -3, 9, 0, 104);
    OK(MPI_Type_contiguous(0, resized, &nothing));
    CHECK_BOUNDS(nothing, 0, 0, 0, 0, 0);
    MPI_Datatype *all[] = {&member, &three, &spread, &resized, &two, &outer, &nothing};
    for (int i = 0; i < 7; i++) OK(MPI_Type_free(all[i]));
}

// Zero counts and zero blocks are legal everywhere, with null arrays where there is nothing to read.
// Strides that are no multiple of the alignment: the extent is, and a type covers all of those that it is made of, with the padding
// at their ends.
static void odd_strides(void) {
    MPI_Datatype inner, outer, indexed;
    MPI_Aint lb, extent, true_lb, true_extent;
    OK(MPI_Type_create_hvector(3, 4, 25, MPI_INT, &inner));
    OK(MPI_Type_get_extent(inner, &lb, &extent));
    OK(MPI_Type_get_true_extent(inner, &true_lb, &true_extent));
    CHECK(lb == 0 && extent == 68 && true_lb == 0 && true_extent == 66);
    OK(MPI_Type_create_hvector(2, 3, 273, inner, &outer));
    OK(MPI_Type_get_extent(outer, &lb, &extent));
    OK(MPI_Type_get_true_extent(outer, &true_lb, &true_extent));
    // The last of the inner types ends at 273 + 3 * 68 = 477.
    CHECK(lb == 0 && extent == 480 && true_lb == 0 && true_extent == 475);
    OK(MPI_Type_create_hindexed(2, (int[]){1, 3}, (MPI_Aint[]){0, 273}, inner, &indexed));
    OK(MPI_Type_get_extent(indexed, &lb, &extent));
    CHECK(lb == 0 && extent == 480);
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_free(&outer));
    OK(MPI_Type_free(&indexed));
}

static void nothing(void) {
    MPI_Datatype t[9];
    int zero[] = {0, 0}, disps[] = {50, -50}, one = 1, position = 0, received = -1;
    OK(MPI_Type_contiguous(0, MPI_INT, &t[0]));
    OK(MPI_Type_vector(0, 3, 7, MPI_INT, &t[1]));
    OK(MPI_Type_vector(3, 0, 7, MPI_INT, &t[2]));
    OK(MPI_Type_indexed(0, NULL, NULL, MPI_INT, &t[3]));
    OK(MPI_Type_indexed(2, zero, disps, MPI_INT, &t[4]));
    OK(MPI_Type_create_indexed_block(2, 0, disps, MPI_INT, &t[5]));
    OK(MPI_Type_create_hindexed(0, NULL, NULL, MPI_INT, &t[6]));
    OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &t[7]));
    OK(MPI_Type_create_hvector(3, 0, -8, MPI_INT, &t[8]));
    for (int i = 0; i < 9; i++) {
        MPI_Status status;
        CHECK_BOUNDS(t[i], 0, 0, 0, 0, 0);
        OK(MPI_Type_commit(&t[i]));
        OK(MPI_Pack(&one, 5, t[i], NULL, 0, &position, MPI_COMM_SELF));
        CHECK_EQ(position, 0);
        OK(MPI_Sendrecv(&one, 3, t[i], 0, 0, NULL, 2, t[i], 0, 0, MPI_COMM_SELF, &status));
        OK(MPI_Get_count(&status, t[i], &received));
        CHECK_EQ(received, 0);
        OK(MPI_Get_elements(&status, t[i], &received));
        CHECK_EQ(received, 0);
        OK(MPI_Type_free(&t[i]));
    }
}

static void arrays(void) {
    int sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 2};
    MPI_Count sizes_c[] = {4, 5}, subsizes_c[] = {2, 3}, starts_c[] = {1, 2};
    BOTH(t, MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &t),
         MPI_Type_create_subarray_c(2, sizes_c, subsizes_c, starts_c, MPI_ORDER_C, MPI_INT, &t), 24, 0, 80, 28, 32, 7, 8,
         9, 12, 13, 14);
    BOTH(t, MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &t),
         MPI_Type_create_subarray_c(2, sizes_c, subsizes_c, starts_c, MPI_ORDER_FORTRAN, MPI_INT, &t), 24, 0, 80, 36, 40,
         9, 10, 13, 14, 17, 18);

    // Rows dealt out in pairs to two processes, columns in blocks to three: this is the last but one of six.
    int gsizes[] = {5, 7}, distribs[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
    int dargs[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, psizes[] = {2, 3};
    MPI_Count gsizes_c[] = {5, 7};
    BOTH(t, MPI_Type_create_darray(6, 4, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &t),
         MPI_Type_create_darray_c(6, 4, 2, gsizes_c, distribs, dargs, psizes, MPI_ORDER_C, MPI_INT, &t), 24, 0, 140, 68,
         40, 17, 18, 19, 24, 25, 26);

    // All the parts of a distribution cover the array once, whatever the order.
    for (int order = 0; order < 2; order++) {
        int seen[3 * 4 * 5] = {0}, g[] = {3, 4, 5}, p[] = {2, 1, 2}, d[] = {MPI_DISTRIBUTE_DFLT_DARG, 0, 2};
        int dist[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC};
        for (int r = 0; r < 4; r++) {
            MPI_Datatype t;
            int index[60], mine[60], n = -1, position = 0;
            for (int i = 0; i < 60; i++) index[i] = i;
            OK(MPI_Type_create_darray(4, r, 3, g, dist, d, p, order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_INT, &t));
            OK(MPI_Type_commit(&t));
            OK(MPI_Type_size(t, &n));
            OK(MPI_Pack(index, 1, t, mine, (int)sizeof mine, &position, MPI_COMM_SELF));
            CHECK_EQ(position, n);
            for (int i = 0; i < n / 4; i++) seen[mine[i]]++;
            OK(MPI_Type_free(&t));
        }
        for (int i = 0; i < 60; i++) CHECK_EQ(seen[i], 1);
    }

    // More processes than blocks: the last ones have nothing, but the extent of the whole.
    int few[] = {2}, block[] = {MPI_DISTRIBUTE_BLOCK}, dflt[] = {MPI_DISTRIBUTE_DFLT_DARG}, four[] = {4};
    MPI_Datatype empty;
    OK(MPI_Type_create_darray(4, 3, 1, few, block, dflt, four, MPI_ORDER_C, MPI_INT, &empty));
    CHECK_BOUNDS(empty, 0, 0, 8, 0, 0);
    OK(MPI_Type_free(&empty));
}

// What a type was made of may be freed before it is used.
static void freed_members(void) {
    MPI_Datatype inner, outer;
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
    OK(MPI_Type_contiguous(2, inner, &outer));
    OK(MPI_Type_free(&inner));
    CHECK_INTS(committed(outer), 0, 2, 3, 5);
    OK(MPI_Type_free(&outer));
}

// A thousand levels, each of which adds an int, and a thousand that add nothing.
static void deep(void) {
    enum { LEVELS = 1000 };
    static int memory[LEVELS + 1], packed[LEVELS + 1];
    MPI_Datatype t = MPI_INT;
    for (int i = 0; i < LEVELS; i++) {
        MPI_Datatype members[] = {MPI_INT, t}, next, again;
        int lens[] = {1, 1};
        MPI_Aint disps[] = {0, 4};
        OK(MPI_Type_create_struct(2, lens, disps, members, &next));
        if (i) OK(MPI_Type_free(&t));
        OK(MPI_Type_contiguous(1, next, &again));
        OK(MPI_Type_free(&next));
        t = again;
    }
    OK(MPI_Type_commit(&t));
    for (int i = 0; i <= LEVELS; i++) memory[i] = i * i;
    int position = 0;
    OK(MPI_Pack(memory, 1, t, packed, (int)sizeof packed, &position, MPI_COMM_SELF));
    CHECK_EQ(position, (int)sizeof packed);
    for (int i = 0; i <= LEVELS; i++) CHECK_EQ(packed[i], i * i);
    OK(MPI_Type_free(&t));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    simple();
    bounds();
    odd_strides();
    nothing();
    arrays();
    freed_members();
    deep();
    return finish();
}
