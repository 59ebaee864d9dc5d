// ranks: 1 2 4
// MPIX_Op_create_x: the function gets its extra state with each call, in blocking, nonblocking and persistent operations, and
// the destructor gets it once, when the operation is freed and no longer used.
#include "../check.h"

struct state {
    int factor, calls, destroyed;
};

static void scaled_sum(void *in, void *inout, MPI_Count count, MPI_Datatype type, void *extra)
{
    struct state *state = extra;
    CHECK_EQ(type == MPI_INT, 1);
    CHECK_EQ(state->destroyed, 0);
    state->calls++;
    for (MPI_Count i = 0; i < count; i++) ((int *)inout)[i] += ((int *)in)[i] * state->factor;
}

static void destroy(void *extra)
{
    struct state *state = extra;
    int flag = 0;
    // The destructor may call MPI.
    MPI_Initialized(&flag);
    CHECK_EQ(flag, 1);
    state->destroyed++;
}

// The left operand: associative, but not commutative.
static void leftmost(void *in, void *inout, MPI_Count count, MPI_Datatype type, void *extra)
{
    CHECK_EQ(type == MPI_INT && *(int *)extra == 10, 1);
    for (MPI_Count i = 0; i < count; i++) ((int *)inout)[i] = ((int *)in)[i];
}

int main(int argc, char **argv)
{
    enum { LONG = 20000 };
    static int from[LONG], to[LONG];
    struct state first = {1, 0, 0}, second = {5, 0, 0};
    int commutes = -1, weight = 10;
    MPI_Op op, other;
    MPI_Request request;
    start(&argc, &argv);

    for (int i = 0; i < LONG; i++) from[i] = rank + i;

    // Two operations of one function, each with its own state.
    MPIX_Op_create_x(scaled_sum, destroy, 1, &first, &op);
    MPIX_Op_create_x(scaled_sum, destroy, 1, &second, &other);
    MPI_Op_commutative(op, &commutes);
    CHECK_EQ(commutes, 1);
    const int sum = size * (size - 1) / 2;
    for (int length = 1; length <= LONG; length += LONG - 1) {
        MPI_Allreduce(from, to, length, MPI_INT, op, MPI_COMM_WORLD);
        for (int i = 0; i < length; i++) CHECK_EQ(to[i], sum + size * i);
        MPI_Iallreduce(from, to, length, MPI_INT, op, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < length; i++) CHECK_EQ(to[i], sum + size * i);
    }
    CHECK_EQ(second.calls, 0);
    to[1] = 3;
    MPI_Reduce_local(&from[1], &to[1], 1, MPI_INT, other);
    CHECK_EQ(to[1], 3 + 5 * (rank + 1));
    CHECK_EQ(second.calls, 1);

    // A freed operation is used by what has begun with it.
    MPI_Allreduce_init(from, to, 2, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Op_free(&op);
    CHECK_EQ(op == MPI_OP_NULL, 1);
    CHECK_EQ(first.destroyed, 0);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_EQ(to[1], sum + size);
    }
    MPI_Request_free(&request);
    MPI_Op_free(&other);
    CHECK_EQ(first.destroyed, 1);
    CHECK_EQ(second.destroyed, 1);

    // Without a destructor, and in the order of the ranks.
    int mine = rank + 7, left = 0;
    MPIX_Op_create_x(leftmost, NULL, 0, &weight, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK_EQ(commutes, 0);
    MPI_Allreduce(&mine, &left, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK_EQ(left, 7);
    MPI_Op_free(&op);

    // Without a function nothing is made, and the destructor is not called.
    return_errors();
    CHECK_EQ(MPIX_Op_create_x(NULL, destroy, 1, &first, &op) == MPI_SUCCESS, 0);
    CHECK_EQ(op == MPI_OP_NULL, 1);
    CHECK_EQ(first.destroyed, 1);
    return finish();
}
