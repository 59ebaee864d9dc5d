// ranks: 2 3 4 5 8
// no-check: the ranks give different lengths
// Short collectives whose ranks pass different lengths: a rank that detects it gets an error, so
// does each rank that receives no valid data, and the next calls work again.
#include "../check.h"

static int in[64], out[64 * 8], odd, one_node;
static MPI_Comm comm;

static void in_step(void) {
    int one = 1, sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size);
    OK(MPI_Bcast(&sum, 1, MPI_INT, size - 1, comm));
    OK(MPI_Barrier(comm));
}

// Whether the ranks that must fail do. Between nodes others may detect it too: data goes through them.
static int as_expected(int failed, int must) { return one_node ? failed == must : failed >= must; }

static int fails(int code) {
    int class = check_class(code);
    if (class == MPI_SUCCESS) return 0;
    if (class != MPI_ERR_TRUNCATE) CHECK_CLASS(code, MPI_ERR_COUNT);
    return 1;
}

// Starts a nonblocking operation and returns its result.
#define LATER(call)                                                    \
    do {                                                               \
        OK(call);                                                      \
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);                  \
    } while (0)

static void bcasts(int root, int longer) {
    int code, count = (rank == root) == longer ? 10 : 1;
    MPI_Request request;
    code = MPI_Bcast(in, count, MPI_INT, root, comm);
    CHECK_EQ(fails(code), rank != root);
    in_step();
    LATER(MPI_Ibcast(in, count, MPI_INT, root, comm, &request));
    if (rank != root) CHECK(fails(code));
    in_step();
}

// One rank differs from the others.
static void ones(int count) {
    int code, mine = rank == odd ? count + 1 : count;
    MPI_Request request;
    CHECK(fails(MPI_Allreduce(in, out, mine, MPI_INT, MPI_SUM, comm)));
    in_step();
    CHECK(fails(MPI_Allgather(in, mine, MPI_INT, out, mine, MPI_INT, comm)));
    in_step();
    CHECK(fails(MPI_Alltoall(out, mine, MPI_INT, in, mine, MPI_INT, comm)));
    in_step();
    // The root gets all that is wrong.
    code = MPI_Reduce(in, out, mine, MPI_INT, MPI_SUM, 0, comm);
    CHECK(as_expected(fails(code), rank == 0));
    in_step();
    code = MPI_Gather(in, mine, MPI_INT, out, mine, MPI_INT, 0, comm);
    CHECK(as_expected(fails(code), rank == 0));
    in_step();
    code = MPI_Scatter(out, mine, MPI_INT, in, mine, MPI_INT, 0, comm);
    CHECK(as_expected(fails(code), odd == 0 ? rank != 0 : rank == odd));
    in_step();
    LATER(MPI_Igather(in, mine, MPI_INT, out, mine, MPI_INT, 0, comm, &request));
    if (rank == 0) CHECK(fails(code));
    in_step();
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm near;
    int sharing;
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
    OK(MPI_Comm_size(near, &sharing));
    OK(MPI_Comm_free(&near));
    one_node = sharing == size;
    for (int turn = 0; turn < 50; turn++) {
        bcasts(turn % size, turn / size % 2);
        odd = turn % size;
        ones(1 + turn % 5);
    }
    OK(MPI_Comm_free(&comm));
    return finish();
}
