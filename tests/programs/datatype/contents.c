// ranks: 1
// The envelope and the contents of a type give back what its constructor got, in the int and in the count form.
#include "layout.h"

static int integers[64];
static MPI_Aint addresses[64];
static MPI_Count counts[64];
static MPI_Datatype types[64];

// Reads a type made with ints, and checks how many arguments of each sort it has.
static void read_small(MPI_Datatype type, int combiner, int ni, int na, int nd) {
    int i = -1, a = -1, d = -1, c = -1;
    MPI_Count ic = -1, ac = -1, lc = -1, dc = -1;
    OK(MPI_Type_get_envelope(type, &i, &a, &d, &c));
    CHECK_EQ(c, combiner);
    CHECK_EQ(i, ni);
    CHECK_EQ(a, na);
    CHECK_EQ(d, nd);
    OK(MPI_Type_get_envelope_c(type, &ic, &ac, &lc, &dc, &c));
    CHECK_EQ(c, combiner);
    CHECK(ic == ni && ac == na && lc == 0 && dc == nd);
    // One too few of any is refused.
    if (ni) CHECK_CLASS(MPI_Type_get_contents(type, ni - 1, na, nd, integers, addresses, types), MPI_ERR_ARG);
    if (na) CHECK_CLASS(MPI_Type_get_contents(type, ni, na - 1, nd, integers, addresses, types), MPI_ERR_ARG);
    if (nd) CHECK_CLASS(MPI_Type_get_contents(type, ni, na, nd - 1, integers, addresses, types), MPI_ERR_ARG);
    OK(MPI_Type_get_contents(type, ni, na, nd, integers, addresses, types));
    // The count form shows the same.
    int more[64];
    MPI_Aint far[64];
    MPI_Datatype others[64];
    OK(MPI_Type_get_contents_c(type, 64, 64, 0, 64, more, far, NULL, others));
    CHECK(!memcmp(more, integers, (size_t)ni * sizeof *more));
    CHECK(!memcmp(far, addresses, (size_t)na * sizeof *far));
    for (int n = 0; n < nd; n++) {
        int i2, a2, d2;
        OK(MPI_Type_get_envelope(others[n], &i2, &a2, &d2, &c));
        if (c != MPI_COMBINER_NAMED) OK(MPI_Type_free(&others[n]));
    }
}

// Reads a type made with counts; the int form refuses it.
static void read_large(MPI_Datatype type, int combiner, int ni, int nl, int nd) {
    int i = -1, a = -1, d = -1, c = -1;
    MPI_Count ic = -1, ac = -1, lc = -1, dc = -1;
    CHECK_ERROR(MPI_Type_get_envelope(type, &i, &a, &d, &c), MPI_ERR_TYPE, "large counts");
    CHECK_ERROR(MPI_Type_get_contents(type, 64, 64, 64, integers, addresses, types), MPI_ERR_TYPE, "large counts");
    OK(MPI_Type_get_envelope_c(type, &ic, &ac, &lc, &dc, &c));
    CHECK_EQ(c, combiner);
    CHECK_EQ(ic, ni);
    CHECK_EQ(ac, 0);
    CHECK_EQ(lc, nl);
    CHECK_EQ(dc, nd);
    CHECK_CLASS(MPI_Type_get_contents_c(type, ni, 0, nl - 1, nd, integers, addresses, counts, types), MPI_ERR_ARG);
    OK(MPI_Type_get_contents_c(type, ni, 0, nl, nd, integers, addresses, counts, types));
}

#define ARE(array, ...)                                                      \
    do {                                                                     \
        const long long want_[] = {__VA_ARGS__};                             \
        for (size_t i_ = 0; i_ < sizeof want_ / sizeof *want_; i_++)         \
            if (array[i_] != want_[i_])                                      \
                CHECK_FAIL("%s[%zu] is %lld, not %lld", #array, i_, (long long)array[i_], want_[i_]); \
    } while (0)

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Datatype t, inner;
    int lens[] = {2, 1}, disps[] = {5, -1};
    MPI_Count lens_c[] = {2, 1}, disps_c[] = {5, -1};
    MPI_Aint bytes[] = {40, -8};
    MPI_Datatype members[] = {MPI_DOUBLE, MPI_CHAR};

    OK(MPI_Type_dup(MPI_INT, &t));
    read_small(t, MPI_COMBINER_DUP, 0, 0, 1);
    CHECK(types[0] == MPI_INT);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_contiguous(7, MPI_INT, &t));
    read_small(t, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    ARE(integers, 7);
    CHECK(types[0] == MPI_INT);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_contiguous_c(7, MPI_INT, &t));
    read_large(t, MPI_COMBINER_CONTIGUOUS, 0, 1, 1);
    ARE(counts, 7);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_vector(2, 3, -4, MPI_INT, &t));
    read_small(t, MPI_COMBINER_VECTOR, 3, 0, 1);
    ARE(integers, 2, 3, -4);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_vector_c(2, 3, -4, MPI_INT, &t));
    read_large(t, MPI_COMBINER_VECTOR, 0, 3, 1);
    ARE(counts, 2, 3, -4);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_create_hvector(2, 3, -40, MPI_INT, &t));
    read_small(t, MPI_COMBINER_HVECTOR, 2, 1, 1);
    ARE(integers, 2, 3);
    ARE(addresses, -40);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hvector_c(2, 3, -40, MPI_INT, &t));
    read_large(t, MPI_COMBINER_HVECTOR, 0, 3, 1);
    ARE(counts, 2, 3, -40);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_indexed(2, lens, disps, MPI_INT, &t));
    read_small(t, MPI_COMBINER_INDEXED, 5, 0, 1);
    ARE(integers, 2, 2, 1, 5, -1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_indexed_c(2, lens_c, disps_c, MPI_INT, &t));
    read_large(t, MPI_COMBINER_INDEXED, 0, 5, 1);
    ARE(counts, 2, 2, 1, 5, -1);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_create_hindexed(2, lens, bytes, MPI_INT, &t));
    read_small(t, MPI_COMBINER_HINDEXED, 3, 2, 1);
    ARE(integers, 2, 2, 1);
    ARE(addresses, 40, -8);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hindexed_c(2, lens_c, disps_c, MPI_INT, &t));
    read_large(t, MPI_COMBINER_HINDEXED, 0, 5, 1);
    ARE(counts, 2, 2, 1, 5, -1);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_create_indexed_block(2, 3, disps, MPI_INT, &t));
    read_small(t, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 1);
    ARE(integers, 2, 3, 5, -1);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_indexed_block_c(2, 3, disps_c, MPI_INT, &t));
    read_large(t, MPI_COMBINER_INDEXED_BLOCK, 0, 4, 1);
    ARE(counts, 2, 3, 5, -1);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_create_hindexed_block(2, 3, bytes, MPI_INT, &t));
    read_small(t, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1);
    ARE(integers, 2, 3);
    ARE(addresses, 40, -8);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_hindexed_block_c(2, 3, disps_c, MPI_INT, &t));
    read_large(t, MPI_COMBINER_HINDEXED_BLOCK, 0, 4, 1);
    ARE(counts, 2, 3, 5, -1);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_create_struct(2, lens, bytes, members, &t));
    read_small(t, MPI_COMBINER_STRUCT, 3, 2, 2);
    ARE(integers, 2, 2, 1);
    ARE(addresses, 40, -8);
    CHECK(types[0] == MPI_DOUBLE && types[1] == MPI_CHAR);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_struct_c(2, lens_c, disps_c, members, &t));
    read_large(t, MPI_COMBINER_STRUCT, 0, 5, 2);
    ARE(counts, 2, 2, 1, 5, -1);
    CHECK(types[0] == MPI_DOUBLE && types[1] == MPI_CHAR);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_create_resized(MPI_INT, -3, 9, &t));
    read_small(t, MPI_COMBINER_RESIZED, 0, 2, 1);
    ARE(addresses, -3, 9);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_resized_c(MPI_INT, -3, 9, &t));
    read_large(t, MPI_COMBINER_RESIZED, 0, 2, 1);
    ARE(counts, -3, 9);
    OK(MPI_Type_free(&t));

    int sizes[] = {4, 5}, subs[] = {2, 3}, starts[] = {1, 2};
    MPI_Count sizes_c[] = {4, 5}, subs_c[] = {2, 3}, starts_c[] = {1, 2};
    OK(MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_INT, &t));
    read_small(t, MPI_COMBINER_SUBARRAY, 8, 0, 1);
    ARE(integers, 2, 4, 5, 2, 3, 1, 2, MPI_ORDER_C);
    CHECK(types[0] == MPI_INT);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_subarray_c(2, sizes_c, subs_c, starts_c, MPI_ORDER_FORTRAN, MPI_INT, &t));
    read_large(t, MPI_COMBINER_SUBARRAY, 2, 6, 1);
    ARE(integers, 2, MPI_ORDER_FORTRAN);
    ARE(counts, 4, 5, 2, 3, 1, 2);
    OK(MPI_Type_free(&t));

    int dist[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
    OK(MPI_Type_create_darray(6, 5, 2, sizes, dist, dargs, grid, MPI_ORDER_C, MPI_INT, &t));
    read_small(t, MPI_COMBINER_DARRAY, 12, 0, 1);
    ARE(integers, 6, 5, 2, 4, 5, dist[0], dist[1], dargs[0], 2, 2, 3, MPI_ORDER_C);
    CHECK(types[0] == MPI_INT);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_create_darray_c(6, 5, 2, sizes_c, dist, dargs, grid, MPI_ORDER_C, MPI_INT, &t));
    read_large(t, MPI_COMBINER_DARRAY, 10, 2, 1);
    ARE(integers, 6, 5, 2, dist[0], dist[1], dargs[0], 2, 2, 3, MPI_ORDER_C);
    ARE(counts, 4, 5);
    OK(MPI_Type_free(&t));

    // A derived member comes back as a new handle, which lives on its own and has to be freed.
    OK(MPI_Type_vector(2, 1, 3, MPI_INT, &inner));
    OK(MPI_Type_contiguous(2, inner, &t));
    OK(MPI_Type_free(&inner));
    read_small(t, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
    OK(MPI_Type_free(&t));
    inner = types[0];
    read_small(inner, MPI_COMBINER_VECTOR, 3, 0, 1);
    ARE(integers, 2, 1, 3);
    CHECK_INTS(committed(inner), 0, 3);
    OK(MPI_Type_free(&inner));

    // A named type has an envelope but no contents.
    int i = -1, a = -1, d = -1, c = -1;
    OK(MPI_Type_get_envelope(MPI_INT, &i, &a, &d, &c));
    CHECK(i == 0 && a == 0 && d == 0 && c == MPI_COMBINER_NAMED);
    CHECK_ERROR(MPI_Type_get_contents(MPI_INT, 9, 9, 9, integers, addresses, types), MPI_ERR_TYPE, "MPI_INT");
    CHECK_CLASS(MPI_Type_get_contents_c(MPI_INT, 9, 9, 9, 9, integers, addresses, counts, types), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_envelope(MPI_DATATYPE_NULL, &i, &a, &d, &c), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_envelope(MPI_INT, NULL, &a, &d, &c), MPI_ERR_ARG);
    return finish();
}
