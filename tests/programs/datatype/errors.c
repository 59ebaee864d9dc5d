// ranks: 1
// Every argument that a datatype function can refuse: the class, and that the text names what was wrong.
#include "layout.h"

static MPI_Datatype t;
static int one[] = {1, 1}, minus[] = {1, -1}, zero[] = {0, 0};
static MPI_Aint bytes[] = {0, 8};
static MPI_Count one_c[] = {1, 1}, minus_c[] = {1, -1};
static MPI_Datatype ints[] = {MPI_INT, MPI_INT};

static void constructors(void) {
    CHECK_ERROR(MPI_Type_contiguous(-1, MPI_INT, &t), MPI_ERR_COUNT, "-1");
    CHECK_ERROR(MPI_Type_contiguous_c(-5, MPI_INT, &t), MPI_ERR_COUNT, "MPI_Type_contiguous_c");
    CHECK_ERROR(MPI_Type_vector(-1, 1, 1, MPI_INT, &t), MPI_ERR_COUNT, "count is -1");
    CHECK_ERROR(MPI_Type_vector(1, -2, 1, MPI_INT, &t), MPI_ERR_ARG, "blocklength is -2");
    CHECK_ERROR(MPI_Type_create_hvector(-1, 1, 1, MPI_INT, &t), MPI_ERR_COUNT, "MPI_Type_create_hvector");
    CHECK_ERROR(MPI_Type_create_hvector(1, -2, 1, MPI_INT, &t), MPI_ERR_ARG, "blocklength");
    CHECK_ERROR(MPI_Type_indexed(-2, one, one, MPI_INT, &t), MPI_ERR_COUNT, "-2");
    CHECK_ERROR(MPI_Type_indexed(2, minus, one, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths[1] is -1");
    CHECK_ERROR(MPI_Type_indexed(2, NULL, one, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths");
    CHECK_ERROR(MPI_Type_indexed(2, one, NULL, MPI_INT, &t), MPI_ERR_ARG, "array_of_displacements");
    CHECK_ERROR(MPI_Type_indexed_c(2, minus_c, one_c, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths[1]");
    CHECK_ERROR(MPI_Type_create_hindexed(-2, one, bytes, MPI_INT, &t), MPI_ERR_COUNT, "-2");
    CHECK_ERROR(MPI_Type_create_hindexed(2, minus, bytes, MPI_INT, &t), MPI_ERR_ARG, "array_of_blocklengths[1]");
    CHECK_ERROR(MPI_Type_create_indexed_block(-2, 1, one, MPI_INT, &t), MPI_ERR_COUNT, "-2");
    CHECK_ERROR(MPI_Type_create_indexed_block(2, -1, one, MPI_INT, &t), MPI_ERR_ARG, "blocklength is -1");
    CHECK_ERROR(MPI_Type_create_indexed_block(2, 1, NULL, MPI_INT, &t), MPI_ERR_ARG, "array_of_displacements");
    CHECK_ERROR(MPI_Type_create_hindexed_block(-2, 1, bytes, MPI_INT, &t), MPI_ERR_COUNT, "-2");
    CHECK_ERROR(MPI_Type_create_hindexed_block(2, -1, bytes, MPI_INT, &t), MPI_ERR_ARG, "blocklength is -1");
    CHECK_ERROR(MPI_Type_create_struct(-1, one, bytes, ints, &t), MPI_ERR_COUNT, "-1");
    CHECK_ERROR(MPI_Type_create_struct(2, minus, bytes, ints, &t), MPI_ERR_ARG, "array_of_blocklengths[1]");
    CHECK_ERROR(MPI_Type_create_struct(2, one, bytes, NULL, &t), MPI_ERR_ARG, "array_of_types");
    MPI_Datatype with_null[] = {MPI_INT, MPI_DATATYPE_NULL};
    CHECK_ERROR(MPI_Type_create_struct(2, one, bytes, with_null, &t), MPI_ERR_TYPE, "array_of_types[1]");
}

static void arrays(void) {
    int four[] = {4, 4}, two[] = {2, 2}, five[] = {2, 5}, three[] = {0, 3};
    CHECK_ERROR(MPI_Type_create_subarray(0, four, two, zero, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, "ndims");
    CHECK_ERROR(MPI_Type_create_subarray(-1, four, two, zero, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, "ndims");
    CHECK_ERROR(MPI_Type_create_subarray(2, zero, two, zero, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, "array_of_sizes[0]");
    CHECK_ERROR(MPI_Type_create_subarray(2, four, zero, zero, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
                "array_of_subsizes[0]");
    CHECK_ERROR(MPI_Type_create_subarray(2, four, five, zero, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
                "array_of_subsizes[1] is 5");
    CHECK_ERROR(MPI_Type_create_subarray(2, four, two, three, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG,
                "array_of_starts[1] is 3");
    CHECK_ERROR(MPI_Type_create_subarray(2, four, two, minus, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, "array_of_starts[1]");
    CHECK_ERROR(MPI_Type_create_subarray(2, four, two, zero, 77, MPI_INT, &t), MPI_ERR_ARG, "77");
    CHECK_ERROR(MPI_Type_create_subarray(2, NULL, two, zero, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG, "array_of_sizes");

    int dist[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, dargs[] = {2, 0}, grid[] = {2, 1};
#define DARRAY(size, rank, g, d, a, p, order) MPI_Type_create_darray(size, rank, 2, g, d, a, p, order, MPI_INT, &t)
    OK(DARRAY(2, 1, four, dist, dargs, grid, MPI_ORDER_C));
    OK(MPI_Type_free(&t));
    CHECK_ERROR(DARRAY(0, 0, four, dist, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "size is 0");
    CHECK_ERROR(DARRAY(2, 2, four, dist, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "rank is 2");
    CHECK_ERROR(DARRAY(2, -1, four, dist, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "rank is -1");
    CHECK_ERROR(DARRAY(3, 0, four, dist, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_psizes");
    CHECK_ERROR(DARRAY(2, 0, zero, dist, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_gsizes[0]");
    CHECK_ERROR(DARRAY(2, 0, four, dist, dargs, grid, 5), MPI_ERR_ARG, "order is 5");
    int short_block[] = {1, 0}, bad[] = {99, MPI_DISTRIBUTE_NONE}, no_grid[] = {2, 0}, none_grid[] = {1, 2};
    CHECK_ERROR(DARRAY(2, 0, four, dist, short_block, grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_dargs[0] is 1");
    CHECK_ERROR(DARRAY(2, 0, four, bad, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_distribs[0] is 99");
    CHECK_ERROR(DARRAY(2, 0, four, dist, dargs, no_grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_psizes[1]");
    CHECK_ERROR(DARRAY(2, 0, four, dist, dargs, none_grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_psizes[1]");
    CHECK_ERROR(DARRAY(2, 0, four, dist, minus, grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_dargs[0]");
    CHECK_ERROR(DARRAY(2, 0, NULL, dist, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_gsizes");
    CHECK_ERROR(DARRAY(2, 0, four, NULL, dargs, grid, MPI_ORDER_C), MPI_ERR_ARG, "array_of_distribs");
    CHECK_CLASS(MPI_Type_create_darray(1, 0, 0, four, dist, dargs, grid, MPI_ORDER_C, MPI_INT, &t), MPI_ERR_ARG);
}

// Every function that takes a type, with one that is null, freed, of another kind, or garbage.
static void handles(MPI_Datatype bad) {
    int n, a, b, c;
    MPI_Aint x, y;
    MPI_Count u, v, w, z;
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Datatype copy = bad;
    MPI_Status status;
    memset(&status, 0, sizeof status);
    int four[] = {4}, two[] = {2}, dist[] = {MPI_DISTRIBUTE_NONE};
    CHECK_CLASS(MPI_Type_contiguous(1, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_vector(1, 1, 1, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_hvector(1, 1, 1, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_indexed(1, one, one, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_hindexed(1, one, bytes, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_indexed_block(1, 1, one, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_hindexed_block(1, 1, bytes, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_struct(1, one, bytes, &bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_subarray(1, four, two, zero, MPI_ORDER_C, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_darray(1, 0, 1, four, dist, zero, one, MPI_ORDER_C, bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_create_resized(bad, 0, 1, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_dup(bad, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_commit(&copy), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_free(&copy), MPI_ERR_TYPE);
    CHECK(copy == bad);
    CHECK_CLASS(MPI_Type_size(bad, &n), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_size_c(bad, &u), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_size_x(bad, &u), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_extent(bad, &x, &y), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_extent_x(bad, &u, &v), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_true_extent(bad, &x, &y), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_true_extent_x(bad, &u, &v), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_envelope(bad, &n, &a, &b, &c), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_envelope_c(bad, &u, &v, &w, &z, &c), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_contents(bad, 1, 1, 1, &n, &x, &copy), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_contents_c(bad, 1, 1, 1, 1, &n, &x, &u, &copy), MPI_ERR_TYPE);
    // The null handle, alone of these, has a name.
    if (bad != MPI_DATATYPE_NULL) CHECK_CLASS(MPI_Type_get_name(bad, text, &n), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_set_name(bad, "name"), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get_elements(&status, bad, &n), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get_elements_c(&status, bad, &u), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get_elements_x(&status, bad, &u), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get_count(&status, bad, &n), MPI_ERR_TYPE);
    int position = 0;
    CHECK_CLASS(MPI_Pack(&a, 1, bad, &b, 4, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Unpack(&a, 4, &position, &b, 1, bad, MPI_COMM_SELF), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Pack_size(1, bad, MPI_COMM_SELF, &n), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Pack_external_size("external32", 1, bad, &x), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(&a, 1, bad, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
}

static void places(void) {
    int n = 0;
    MPI_Aint x = 0;
    MPI_Status status;
    memset(&status, 0, sizeof status);
    CHECK_ERROR(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG, "newtype");
    CHECK_CLASS(MPI_Type_create_struct(2, one, bytes, ints, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_dup(MPI_INT, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_commit(NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_free(NULL), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Type_size(MPI_INT, NULL), MPI_ERR_ARG, "size");
    CHECK_ERROR(MPI_Type_get_extent(MPI_INT, NULL, &x), MPI_ERR_ARG, "lb");
    CHECK_ERROR(MPI_Type_get_extent(MPI_INT, &x, NULL), MPI_ERR_ARG, "extent");
    CHECK_CLASS(MPI_Type_get_true_extent(MPI_INT, NULL, &x), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Get_elements(&status, MPI_INT, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Get_elements(MPI_STATUS_IGNORE, MPI_INT, &n), MPI_ERR_ARG);
}

// Sizes: what a result cannot hold is undefined, what memory cannot hold cannot be committed, and beyond 128 bits
// nothing can be made.
static void sizes(void) {
    MPI_Datatype big, bigger, next;
    int n = 0;
    MPI_Count u = 0, v = 0;
    MPI_Aint x = 0, y = 0;
    OK(MPI_Type_contiguous_c((MPI_Count)3 << 30, MPI_INT, &big));
    OK(MPI_Type_size(big, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    OK(MPI_Type_size_c(big, &u));
    CHECK_EQ(u, (MPI_Count)12 << 30);
    OK(MPI_Type_commit(&big));
    OK(MPI_Type_contiguous_c((MPI_Count)1 << 40, big, &bigger));
    OK(MPI_Type_size_c(bigger, &u));
    CHECK_EQ(u, MPI_UNDEFINED);
    OK(MPI_Type_get_extent(bigger, &x, &y));
    CHECK_EQ(x, 0);
    CHECK_EQ(y, MPI_UNDEFINED);
    OK(MPI_Type_get_extent_c(bigger, &u, &v));
    CHECK_EQ(v, MPI_UNDEFINED);
    OK(MPI_Type_get_true_extent(bigger, &x, &y));
    CHECK_EQ(y, MPI_UNDEFINED);
    CHECK_CLASS(MPI_Type_commit(&bigger), MPI_ERR_TYPE);
    OK(MPI_Type_contiguous_c((MPI_Count)1 << 45, bigger, &next));
    OK(MPI_Type_free(&bigger));
    CHECK_CLASS(MPI_Type_contiguous_c((MPI_Count)1 << 62, next, &bigger), MPI_ERR_COUNT);
    OK(MPI_Type_free(&next));
    OK(MPI_Pack_size(1, big, MPI_COMM_SELF, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    OK(MPI_Pack_size_c(2, big, MPI_COMM_SELF, &u));
    CHECK_EQ(u, (MPI_Count)24 << 30);
    OK(MPI_Type_free(&big));
    // A stride of 2^42 bytes is nothing special.
    OK(MPI_Type_create_hvector(3, 1, (MPI_Aint)1 << 42, MPI_INT, &big));
    OK(MPI_Type_get_extent(big, &x, &y));
    CHECK_EQ(y, ((MPI_Aint)2 << 42) + 4);
    OK(MPI_Type_commit(&big));
    OK(MPI_Type_free(&big));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    constructors();
    arrays();
    handles(MPI_DATATYPE_NULL);
    MPI_Datatype freed, alias;
    OK(MPI_Type_contiguous(2, MPI_INT, &freed));
    alias = freed;
    OK(MPI_Type_free(&freed));
    handles(alias);
    handles((MPI_Datatype)MPI_COMM_WORLD);
    handles((MPI_Datatype)(uintptr_t)0xdeadbeef);
    places();
    sizes();
    // A type with overlapping entries can be sent, but not received into.
    MPI_Datatype overlapping[3];
    int memory[8] = {0}, same[] = {2, 5, 2};
    OK(MPI_Type_create_hvector(3, 1, 2, MPI_INT, &overlapping[0]));
    OK(MPI_Type_create_indexed_block(3, 1, same, MPI_INT, &overlapping[1]));
    OK(MPI_Type_create_resized(MPI_INT, 0, 2, &overlapping[2]));
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        OK(MPI_Type_commit(&overlapping[i]));
        OK(MPI_Send(memory, 2, overlapping[i], MPI_PROC_NULL, 0, MPI_COMM_SELF));
        CHECK_ERROR(MPI_Recv(memory, 2, overlapping[i], MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_TYPE,
                    "overlap");
        CHECK_CLASS(MPI_Irecv(memory, 2, overlapping[i], MPI_PROC_NULL, 0, MPI_COMM_SELF, &request), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Recv_init(memory, 2, overlapping[i], MPI_PROC_NULL, 0, MPI_COMM_SELF, &request), MPI_ERR_TYPE);
    }
    // One element of the last one does not overlap.
    OK(MPI_Recv(memory, 1, overlapping[2], MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++) OK(MPI_Type_free(&overlapping[i]));
    // A type that is not committed cannot be used for communication.
    int a[2] = {1, 2}, b[2], position = 0;
    OK(MPI_Type_contiguous(2, MPI_INT, &t));
    CHECK_ERROR(MPI_Send(a, 1, t, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_TYPE, "commit");
    CHECK_ERROR(MPI_Pack(a, 1, t, b, 8, &position, MPI_COMM_SELF), MPI_ERR_TYPE, "commit");
    OK(MPI_Type_free(&t));
    return finish();
}
