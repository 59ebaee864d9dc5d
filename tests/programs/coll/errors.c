// ranks: 1 2 3
// Wrong arguments of the collectives, in every form: the class, and that the text names the call.
// All processes make the same mistake, or are alone in their communicator, so that none waits for
// another.
#include "coll.h"

#define FAILS_(call, class, name)                                                                             \
    do {                                                                                                      \
        int bad_ = (call);                                                                                    \
        if (check_class(bad_) != (class))                                                                     \
            CHECK_FAIL("%s gave class %d, not %s (%d): %s", #call, check_class(bad_), #class, (class), check_text(bad_)); \
        else                                                                                                  \
            CHECK_TEXT(bad_, name);                                                                           \
    } while (0)

// All six forms fail in this way. No request comes back.
#define FAILS_V(Name, name, class, ARGS, ARGS_C)                                                         \
    do {                                                                                                 \
        request = MPI_REQUEST_NULL;                                                                      \
        FAILS_(MPI_##Name(PLAIN_ ARGS), class, "MPI_" #Name);                                            \
        FAILS_(MPI_##Name##_c(PLAIN_ ARGS_C), class, "MPI_" #Name "_c");                                 \
        FAILS_(MPI_I##name(PLAIN_ ARGS, &request), class, "MPI_I" #name);                                \
        FAILS_(MPI_I##name##_c(PLAIN_ ARGS_C, &request), class, "MPI_I" #name "_c");                     \
        FAILS_(MPI_##Name##_init(PLAIN_ ARGS, MPI_INFO_NULL, &request), class, "MPI_" #Name "_init");    \
        FAILS_(MPI_##Name##_init_c(PLAIN_ ARGS_C, MPI_INFO_NULL, &request), class, "MPI_" #Name "_init_c"); \
        CHECK(request == MPI_REQUEST_NULL);                                                              \
    } while (0)
#define FAILS(Name, name, class, ...) FAILS_V(Name, name, class, (__VA_ARGS__), (__VA_ARGS__))

static int a[64], b[64];
static const int one[64] = {1, 1, 1, 1}, none[64] = {0}, minus[64] = {-1, -1, -1, -1};
static const MPI_Count one_c[64] = {1, 1, 1, 1}, minus_c[64] = {-1, -1, -1, -1};
static const MPI_Aint none_a[64] = {0};
static MPI_Datatype ints[8], nulls[8], loose;
static MPI_Comm world, self;

static void roots_and_communicators(void) {
    int wrong[] = {-1, size, INT_MAX, INT_MIN, MPI_PROC_NULL, MPI_ROOT, MPI_ANY_SOURCE};
    for (int i = 0; i < 7; i++) {
        int r = wrong[i];
        FAILS(Bcast, bcast, MPI_ERR_ROOT, a, 1, MPI_INT, r, world);
        FAILS(Gather, gather, MPI_ERR_ROOT, a, 1, MPI_INT, b, 1, MPI_INT, r, world);
        FAILS_V(Gatherv, gatherv, MPI_ERR_ROOT, (a, 1, MPI_INT, b, one, none, MPI_INT, r, world),
                (a, 1, MPI_INT, b, one_c, none_a, MPI_INT, r, world));
        FAILS(Scatter, scatter, MPI_ERR_ROOT, a, 1, MPI_INT, b, 1, MPI_INT, r, world);
        FAILS_V(Scatterv, scatterv, MPI_ERR_ROOT, (a, one, none, MPI_INT, b, 1, MPI_INT, r, world),
                (a, one_c, none_a, MPI_INT, b, 1, MPI_INT, r, world));
        FAILS(Reduce, reduce, MPI_ERR_ROOT, a, b, 1, MPI_INT, MPI_SUM, r, world);
    }
    MPI_Comm stale;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &stale));
    MPI_Comm bad[3] = {MPI_COMM_NULL, stale, (MPI_Comm)MPI_INT};
    OK(MPI_Comm_free(&stale));
    for (int i = 0; i < 3; i++) {
        MPI_Comm c = bad[i];
        FAILS_(MPI_Barrier(c), MPI_ERR_COMM, "MPI_Barrier");
        FAILS_(MPI_Ibarrier(c, &request), MPI_ERR_COMM, "MPI_Ibarrier");
        FAILS_(MPI_Barrier_init(c, MPI_INFO_NULL, &request), MPI_ERR_COMM, "MPI_Barrier_init");
        FAILS(Bcast, bcast, MPI_ERR_COMM, a, 1, MPI_INT, 0, c);
        FAILS(Gather, gather, MPI_ERR_COMM, a, 1, MPI_INT, b, 1, MPI_INT, 0, c);
        FAILS(Scatter, scatter, MPI_ERR_COMM, a, 1, MPI_INT, b, 1, MPI_INT, 0, c);
        FAILS(Allgather, allgather, MPI_ERR_COMM, a, 1, MPI_INT, b, 1, MPI_INT, c);
        FAILS(Alltoall, alltoall, MPI_ERR_COMM, a, 1, MPI_INT, b, 1, MPI_INT, c);
        FAILS_V(Alltoallw, alltoallw, MPI_ERR_COMM, (a, one, none, ints, b, one, none, ints, c),
                (a, one_c, none_a, ints, b, one_c, none_a, ints, c));
        FAILS(Allreduce, allreduce, MPI_ERR_COMM, a, b, 1, MPI_INT, MPI_SUM, c);
        FAILS(Reduce_scatter_block, reduce_scatter_block, MPI_ERR_COMM, a, b, 1, MPI_INT, MPI_SUM, c);
        FAILS(Scan, scan, MPI_ERR_COMM, a, b, 1, MPI_INT, MPI_SUM, c);
        FAILS(Exscan, exscan, MPI_ERR_COMM, a, b, 1, MPI_INT, MPI_SUM, c);
        FAILS(Neighbor_allgather, neighbor_allgather, MPI_ERR_COMM, a, 1, MPI_INT, b, 1, MPI_INT, c);
        FAILS(Neighbor_alltoall, neighbor_alltoall, MPI_ERR_COMM, a, 1, MPI_INT, b, 1, MPI_INT, c);
    }
}

// Counts and types, on both sides. In a communicator of one process every argument is significant.
static void counts_and_types(void) {
    for (int i = 0; i < 3; i++) {
        int n = i == 0 ? -1 : 1, class = i == 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE;
        MPI_Datatype t = i == 0 ? MPI_INT : i == 1 ? MPI_DATATYPE_NULL : loose;
        const int *ns = i == 0 ? minus : one;
        const MPI_Count *nc = i == 0 ? minus_c : one_c;
        MPI_Datatype *ts = i == 0 ? ints : nulls;
        FAILS(Bcast, bcast, class, a, n, t, 0, self);
        FAILS(Gather, gather, class, a, n, t, b, 1, MPI_INT, 0, self);
        FAILS(Gather, gather, class, a, 1, MPI_INT, b, n, t, 0, self);
        FAILS_V(Gatherv, gatherv, class, (a, n, t, b, one, none, MPI_INT, 0, self),
                (a, n, t, b, one_c, none_a, MPI_INT, 0, self));
        FAILS_V(Gatherv, gatherv, class, (a, 1, MPI_INT, b, ns, none, t, 0, self), (a, 1, MPI_INT, b, nc, none_a, t, 0, self));
        FAILS(Scatter, scatter, class, a, n, t, b, 1, MPI_INT, 0, self);
        FAILS(Scatter, scatter, class, a, 1, MPI_INT, b, n, t, 0, self);
        FAILS_V(Scatterv, scatterv, class, (a, ns, none, t, b, 1, MPI_INT, 0, self), (a, nc, none_a, t, b, 1, MPI_INT, 0, self));
        FAILS_V(Scatterv, scatterv, class, (a, one, none, MPI_INT, b, n, t, 0, self),
                (a, one_c, none_a, MPI_INT, b, n, t, 0, self));
        FAILS(Allgather, allgather, class, a, n, t, b, 1, MPI_INT, self);
        FAILS(Allgather, allgather, class, a, 1, MPI_INT, b, n, t, self);
        FAILS_V(Allgatherv, allgatherv, class, (a, n, t, b, one, none, MPI_INT, self), (a, n, t, b, one_c, none_a, MPI_INT, self));
        FAILS_V(Allgatherv, allgatherv, class, (a, 1, MPI_INT, b, ns, none, t, self), (a, 1, MPI_INT, b, nc, none_a, t, self));
        FAILS(Alltoall, alltoall, class, a, n, t, b, 1, MPI_INT, self);
        FAILS(Alltoall, alltoall, class, a, 1, MPI_INT, b, n, t, self);
        FAILS_V(Alltoallv, alltoallv, class, (a, ns, none, t, b, one, none, MPI_INT, self),
                (a, nc, none_a, t, b, one_c, none_a, MPI_INT, self));
        FAILS_V(Alltoallv, alltoallv, class, (a, one, none, MPI_INT, b, ns, none, t, self),
                (a, one_c, none_a, MPI_INT, b, nc, none_a, t, self));
        FAILS_V(Alltoallw, alltoallw, class, (a, ns, none, ts, b, one, none, ints, self),
                (a, nc, none_a, ts, b, one_c, none_a, ints, self));
        FAILS_V(Alltoallw, alltoallw, class, (a, one, none, ints, b, ns, none, ts, self),
                (a, one_c, none_a, ints, b, nc, none_a, ts, self));
        if (i == 2) continue; // an operation refuses this type too, and may do so first
        FAILS(Reduce, reduce, class, a, b, n, t, MPI_SUM, 0, self);
        FAILS(Allreduce, allreduce, class, a, b, n, t, MPI_SUM, self);
        FAILS(Reduce_scatter_block, reduce_scatter_block, class, a, b, n, t, MPI_SUM, self);
        FAILS_V(Reduce_scatter, reduce_scatter, class, (a, b, ns, t, MPI_SUM, self), (a, b, nc, t, MPI_SUM, self));
        FAILS(Scan, scan, class, a, b, n, t, MPI_SUM, self);
        FAILS(Exscan, exscan, class, a, b, n, t, MPI_SUM, self);
        FAILS_(MPI_Reduce_local(a, b, n, t, MPI_SUM), class, "MPI_Reduce_local");
        FAILS_(MPI_Reduce_local_c(a, b, n, t, MPI_SUM), class, "MPI_Reduce_local_c");
    }
    // A count that no memory can have.
    FAILS_(MPI_Bcast_c(a, (MPI_Count)1 << 62, MPI_INT, 0, self), MPI_ERR_COUNT, "MPI_Bcast_c");
}

static void user(void *in, void *inout, int *n, MPI_Datatype *t) {
    (void)in, (void)inout, (void)n, (void)t;
}

static void wrong_op(MPI_Op op, MPI_Datatype t) {
    FAILS(Reduce, reduce, MPI_ERR_OP, a, b, 1, t, op, 0, self);
    FAILS(Allreduce, allreduce, MPI_ERR_OP, a, b, 1, t, op, world);
    FAILS(Reduce_scatter_block, reduce_scatter_block, MPI_ERR_OP, a, b, 1, t, op, world);
    FAILS_V(Reduce_scatter, reduce_scatter, MPI_ERR_OP, (a, b, one, t, op, world), (a, b, one_c, t, op, world));
    FAILS(Scan, scan, MPI_ERR_OP, a, b, 1, t, op, world);
    FAILS(Exscan, exscan, MPI_ERR_OP, a, b, 1, t, op, world);
    FAILS_(MPI_Reduce_local(a, b, 1, t, op), MPI_ERR_OP, "MPI_Reduce_local");
}

static void operations(void) {
    MPI_Op op, stale;
    MPI_Datatype derived, parts[2] = {MPI_INT, MPI_FLOAT};
    MPI_Aint places[2] = {0, 4};
    int flag;
    OK(MPI_Op_create(user, 1, &op));
    stale = op;
    OK(MPI_Op_free(&op));
    wrong_op(MPI_OP_NULL, MPI_INT);
    wrong_op(stale, MPI_INT);
    wrong_op((MPI_Op)MPI_COMM_WORLD, MPI_INT);
    wrong_op(MPI_REPLACE, MPI_INT); // only for one-sided communication
    wrong_op(MPI_NO_OP, MPI_INT);
    OK(MPI_Type_create_struct(2, one, places, parts, &derived));
    OK(MPI_Type_commit(&derived));
    wrong_op(MPI_SUM, derived); // of two different types
    OK(MPI_Type_free(&derived));
    MPI_Op predefined = MPI_SUM;
    FAILS_(MPI_Op_free(&predefined), MPI_ERR_OP, "MPI_Op_free");
    CHECK(predefined == MPI_SUM);
    op = MPI_OP_NULL;
    FAILS_(MPI_Op_free(&op), MPI_ERR_OP, "MPI_Op_free");
    op = stale;
    FAILS_(MPI_Op_free(&op), MPI_ERR_OP, "MPI_Op_free");
    FAILS_(MPI_Op_free(NULL), MPI_ERR_ARG, "MPI_Op_free");
    FAILS_(MPI_Op_commutative(MPI_OP_NULL, &flag), MPI_ERR_OP, "MPI_Op_commutative");
    FAILS_(MPI_Op_commutative(MPI_SUM, NULL), MPI_ERR_ARG, "MPI_Op_commutative");
    FAILS_(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG, "MPI_Op_create");
    FAILS_(MPI_Op_create(user, 1, NULL), MPI_ERR_ARG, "MPI_Op_create");
    FAILS_(MPI_Op_create_c(NULL, 1, &op), MPI_ERR_ARG, "MPI_Op_create_c");
}

static void buffers(void) {
    void *no = NULL, *same_place = MPI_IN_PLACE;
    for (int i = 0; i < 2; i++) {
        void *bad = i ? same_place : no;
        FAILS(Bcast, bcast, MPI_ERR_BUFFER, bad, 1, MPI_INT, 0, self);
        FAILS(Gather, gather, MPI_ERR_BUFFER, a, 1, MPI_INT, bad, 1, MPI_INT, 0, self);
        FAILS(Scatter, scatter, MPI_ERR_BUFFER, bad, 1, MPI_INT, b, 1, MPI_INT, 0, self);
        FAILS(Allgather, allgather, MPI_ERR_BUFFER, a, 1, MPI_INT, bad, 1, MPI_INT, self);
        FAILS(Alltoall, alltoall, MPI_ERR_BUFFER, a, 1, MPI_INT, bad, 1, MPI_INT, self);
        FAILS(Reduce, reduce, MPI_ERR_BUFFER, a, bad, 1, MPI_INT, MPI_SUM, 0, self);
        FAILS(Allreduce, allreduce, MPI_ERR_BUFFER, a, bad, 1, MPI_INT, MPI_SUM, self);
        FAILS(Reduce_scatter_block, reduce_scatter_block, MPI_ERR_BUFFER, a, bad, 1, MPI_INT, MPI_SUM, self);
        FAILS(Scan, scan, MPI_ERR_BUFFER, a, bad, 1, MPI_INT, MPI_SUM, self);
        FAILS_(MPI_Reduce_local(bad, b, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "MPI_Reduce_local");
        FAILS_(MPI_Reduce_local(a, bad, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "MPI_Reduce_local");
    }
    FAILS(Gather, gather, MPI_ERR_BUFFER, no, 1, MPI_INT, b, 1, MPI_INT, 0, self);
    FAILS(Allgather, allgather, MPI_ERR_BUFFER, no, 1, MPI_INT, b, 1, MPI_INT, self);
    FAILS(Allreduce, allreduce, MPI_ERR_BUFFER, no, b, 1, MPI_INT, MPI_SUM, self);
    FAILS_V(Gatherv, gatherv, MPI_ERR_ARG, (a, 1, MPI_INT, b, NULL, none, MPI_INT, 0, self),
            (a, 1, MPI_INT, b, NULL, none_a, MPI_INT, 0, self));
    FAILS_V(Alltoallv, alltoallv, MPI_ERR_ARG, (a, one, NULL, MPI_INT, b, one, none, MPI_INT, self),
            (a, one_c, NULL, MPI_INT, b, one_c, none_a, MPI_INT, self));
    FAILS_V(Alltoallw, alltoallw, MPI_ERR_ARG, (a, one, none, NULL, b, one, none, ints, self),
            (a, one_c, none_a, NULL, b, one_c, none_a, ints, self));
    // Sender and receiver are the same process here: the sizes must agree.
    FAILS(Gather, gather, MPI_ERR_TRUNCATE, a, 2, MPI_INT, b, 1, MPI_INT, 0, self);
    FAILS(Allgather, allgather, MPI_ERR_TRUNCATE, a, 2, MPI_INT, b, 1, MPI_INT, self);
    FAILS(Alltoall, alltoall, MPI_ERR_TRUNCATE, a, 2, MPI_INT, b, 1, MPI_INT, self);
}

static void requests(void) {
    FAILS_(MPI_Ibarrier(self, NULL), MPI_ERR_ARG, "MPI_Ibarrier");
    FAILS_(MPI_Ibcast(a, 1, MPI_INT, 0, self, NULL), MPI_ERR_ARG, "MPI_Ibcast");
    FAILS_(MPI_Allreduce_init(a, b, 1, MPI_INT, MPI_SUM, self, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "MPI_Allreduce_init");
    FAILS_(MPI_Bcast_init(a, 1, MPI_INT, 0, self, (MPI_Info)MPI_INT, &request), MPI_ERR_INFO, "MPI_Bcast_init");
    // A nonblocking collective is neither freed, cancelled nor started.
    OK(MPI_Ibarrier(world, &request));
    FAILS_(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_Request_free");
    FAILS_(MPI_Cancel(&request), MPI_ERR_REQUEST, "MPI_Cancel");
    FAILS_(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start");
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    // A persistent one is not started twice, nor freed or cancelled while it is active.
    OK(MPI_Barrier_init(world, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    FAILS_(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_Request_free");
    FAILS_(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start");
    FAILS_(MPI_Cancel(&request), MPI_ERR_REQUEST, "MPI_Cancel");
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
}

static void between_groups(void) {
    if (size < 2) return;
    struct place p = between(1);
    MPI_Comm c = p.comm;
    FAILS(Scan, scan, MPI_ERR_COMM, a, b, 1, MPI_INT, MPI_SUM, c);
    FAILS(Exscan, exscan, MPI_ERR_COMM, a, b, 1, MPI_INT, MPI_SUM, c);
    int wrong[] = {-1, p.from, INT_MAX};
    for (int i = 0; i < 3; i++) {
        FAILS(Bcast, bcast, MPI_ERR_ROOT, a, 1, MPI_INT, wrong[i], c);
        FAILS(Reduce, reduce, MPI_ERR_ROOT, a, b, 1, MPI_INT, MPI_SUM, wrong[i], c);
        FAILS(Gather, gather, MPI_ERR_ROOT, a, 1, MPI_INT, b, 1, MPI_INT, wrong[i], c);
    }
    FAILS(Allgather, allgather, MPI_ERR_BUFFER, MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, c);
    FAILS(Alltoall, alltoall, MPI_ERR_BUFFER, MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, c);
    FAILS(Allreduce, allreduce, MPI_ERR_BUFFER, MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, c);
    FAILS(Neighbor_allgather, neighbor_allgather, MPI_ERR_COMM, a, 1, MPI_INT, b, 1, MPI_INT, c);
    OK(MPI_Barrier(c));
    OK(MPI_Comm_free(&c));
}

static void neighbourhoods(void) {
    MPI_Comm ring;
    int periodic = 1;
    FAILS(Neighbor_allgather, neighbor_allgather, MPI_ERR_TOPOLOGY, a, 1, MPI_INT, b, 1, MPI_INT, world);
    FAILS_V(Neighbor_allgatherv, neighbor_allgatherv, MPI_ERR_TOPOLOGY, (a, 1, MPI_INT, b, one, none, MPI_INT, world),
            (a, 1, MPI_INT, b, one_c, none_a, MPI_INT, world));
    FAILS(Neighbor_alltoall, neighbor_alltoall, MPI_ERR_TOPOLOGY, a, 1, MPI_INT, b, 1, MPI_INT, world);
    FAILS_V(Neighbor_alltoallv, neighbor_alltoallv, MPI_ERR_TOPOLOGY, (a, one, none, MPI_INT, b, one, none, MPI_INT, world),
            (a, one_c, none_a, MPI_INT, b, one_c, none_a, MPI_INT, world));
    FAILS_V(Neighbor_alltoallw, neighbor_alltoallw, MPI_ERR_TOPOLOGY, (a, one, none_a, ints, b, one, none_a, ints, world),
            (a, one_c, none_a, ints, b, one_c, none_a, ints, world));
    OK(MPI_Cart_create(world, 1, &size, &periodic, 0, &ring));
    FAILS(Neighbor_allgather, neighbor_allgather, MPI_ERR_COUNT, a, -1, MPI_INT, b, 1, MPI_INT, ring);
    FAILS(Neighbor_allgather, neighbor_allgather, MPI_ERR_TYPE, a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, ring);
    FAILS(Neighbor_alltoall, neighbor_alltoall, MPI_ERR_BUFFER, MPI_IN_PLACE, 1, MPI_INT, b, 1, MPI_INT, ring);
    FAILS_V(Neighbor_alltoallw, neighbor_alltoallw, MPI_ERR_TYPE, (a, one, none_a, nulls, b, one, none_a, ints, ring),
            (a, one_c, none_a, nulls, b, one_c, none_a, ints, ring));
    OK(MPI_Comm_free(&ring));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    world = MPI_COMM_WORLD, self = MPI_COMM_SELF;
    for (int i = 0; i < 8; i++) ints[i] = MPI_INT, nulls[i] = MPI_DATATYPE_NULL;
    OK(MPI_Type_contiguous(2, MPI_INT, &loose)); // never committed
    roots_and_communicators();
    counts_and_types();
    operations();
    buffers();
    requests();
    between_groups();
    neighbourhoods();
    // After all this everything still works.
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
    CHECK_EQ(sum, size * (size - 1) / 2);
    OK(MPI_Type_free(&loose));
    return finish();
}
