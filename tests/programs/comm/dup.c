// ranks: 1 2 3 4 7 8
// Duplicates: the same processes, separate contexts, attributes copied as their callbacks decide, handlers inherited, hints
// and names not; blocking and nonblocking.
#include "../check.h"

static int copied, deleted, refuse;

static int copy_fn(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    copied++;
    if (refuse) return MPI_ERR_OTHER;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_fn(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static int skip_fn(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

// The same message tag on two communicators: each message arrives where it was sent.
static void ring(MPI_Comm one, MPI_Comm two) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size, got[2] = {-1, -1}, out[2] = {rank, 1000 + rank};
    MPI_Request requests[4];
    OK(MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, two, &requests[0]));
    OK(MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, one, &requests[1]));
    OK(MPI_Isend(&out[0], 1, MPI_INT, next, 5, one, &requests[2]));
    OK(MPI_Isend(&out[1], 1, MPI_INT, next, 5, two, &requests[3]));
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_EQ(got[0], before);
    CHECK_EQ(got[1], 1000 + before);
}

static void compare(MPI_Comm a, MPI_Comm b, int expected) {
    int result = -1;
    OK(MPI_Comm_compare(a, b, &result));
    CHECK_EQ(result, expected);
}

static void attributes(void) {
    MPI_Comm comm, dup;
    int key, skipped, found = -1;
    char *value = NULL;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_keyval(copy_fn, delete_fn, &key, NULL));
    OK(MPI_Comm_create_keyval(skip_fn, MPI_COMM_NULL_DELETE_FN, &skipped, NULL));
    OK(MPI_Comm_set_attr(comm, key, (void *)100));
    OK(MPI_Comm_set_attr(comm, skipped, (void *)7));
    OK(MPI_Comm_dup(comm, &dup));
    CHECK_EQ(copied, 1);
    OK(MPI_Comm_get_attr(dup, key, &value, &found));
    CHECK(found && value == (char *)101);
    OK(MPI_Comm_get_attr(dup, skipped, &value, &found));
    CHECK(!found);
    OK(MPI_Comm_free(&dup));
    CHECK_EQ(deleted, 1);
    MPI_Request request;
    OK(MPI_Comm_idup(comm, &dup, &request));
    CHECK_EQ(copied, 2);
    OK(MPI_Comm_set_attr(comm, key, (void *)200));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_attr(dup, key, &value, &found));
    CHECK(found && value == (char *)101);
    OK(MPI_Comm_free(&dup));
    CHECK_EQ(deleted, 3);
    // A callback that refuses on every process: the call fails with its code, and the communicator
    // still works.
    refuse = 1;
    dup = MPI_COMM_NULL;
    CHECK_ERROR(MPI_Comm_dup(comm, &dup), MPI_ERR_OTHER, "MPI_Comm_dup");
    CHECK(MPI_Comm_idup(comm, &dup, &request) != MPI_SUCCESS);
    refuse = 0;
    OK(MPI_Comm_dup(comm, &dup));
    ring(comm, dup);
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_free_keyval(&skipped));
}

static void handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void inherited(void) {
    MPI_Comm comm, dup;
    MPI_Errhandler made, got;
    MPI_Info info, used;
    char text[MPI_MAX_OBJECT_NAME];
    int length = -1, flag = -1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(handler, &made));
    OK(MPI_Comm_set_errhandler(comm, made));
    OK(MPI_Comm_set_name(comm, "original"));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Info_set(info, "mpi_assert_exact_length", "nonsense"));
    OK(MPI_Info_set(info, "unheard_of", "1"));
    OK(MPI_Comm_set_info(comm, info));
    OK(MPI_Comm_dup(comm, &dup));
    OK(MPI_Comm_get_errhandler(dup, &got));
    CHECK(got == made);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&made));
    OK(MPI_Comm_get_name(dup, text, &length));
    CHECK_EQ(length, 0);
    for (int i = 0; i < 3; i++) {
        MPI_Comm third;
        if (i == 2) OK(MPI_Comm_dup_with_info(dup, info, &third));
        OK(MPI_Comm_get_info(i == 0 ? comm : i == 1 ? dup : third, &used));
        length = sizeof text;
        OK(MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, text, &flag));
        CHECK(flag);
        CHECK(!strcmp(text, i == 1 ? "false" : "true"));
        length = sizeof text;
        OK(MPI_Info_get_string(used, "mpi_assert_exact_length", &length, text, &flag));
        CHECK(flag && !strcmp(text, "false"));
        OK(MPI_Info_get_string(used, "unheard_of", &length, text, &flag));
        CHECK(!flag);
        OK(MPI_Info_free(&used));
        if (i == 2) OK(MPI_Comm_free(&third));
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&dup));
}

// Many at a time, finished in another order than they were started, with messages and barriers in between.
static void nonblocking(void) {
    enum { N = 12 };
    MPI_Comm comms[N];
    MPI_Request requests[N];
    for (int i = 0; i < N; i++) {
        OK(MPI_Comm_idup(i % 3 == 2 ? comms[i - 2] : MPI_COMM_WORLD, &comms[i], &requests[i]));
        if (i % 3 == 0) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        if (i == 5) OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    // A process that waits for a message must forward what others need for theirs.
    int token = rank;
    if (size > 1) {
        if (rank == size - 1) {
            OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < size - 1; i++) OK(MPI_Send(&token, 1, MPI_INT, i, 9, MPI_COMM_WORLD));
        } else {
            OK(MPI_Recv(&token, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(token, size - 1);
        }
    }
    for (int i = N - 1; i >= 0; i--) {
        MPI_Status status;
        OK(MPI_Wait(&requests[i], &status));
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    for (int i = 0; i < N; i++) {
        compare(comms[i], MPI_COMM_WORLD, MPI_CONGRUENT);
        ring(comms[i], comms[(i + 5) % N]);
    }
    for (int i = 0; i < N; i++) OK(MPI_Comm_free(&comms[i]));
    // Tested instead of waited for.
    MPI_Request request;
    int flag = 0;
    OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comms[0], &request));
    while (!flag) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    ring(MPI_COMM_WORLD, comms[0]);
    OK(MPI_Comm_free(&comms[0]));
}

int main(int argc, char **argv) {
    MPI_Comm dup, second, self;
    int n = -1;
    start(&argc, &argv);
    return_errors();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    compare(MPI_COMM_WORLD, dup, MPI_CONGRUENT);
    compare(dup, dup, MPI_IDENT);
    OK(MPI_Comm_rank(dup, &n));
    CHECK_EQ(n, rank);
    OK(MPI_Comm_size(dup, &n));
    CHECK_EQ(n, size);
    OK(MPI_Comm_dup(dup, &second));
    ring(dup, second);
    ring(second, MPI_COMM_WORLD);
    OK(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL);
    OK(MPI_Comm_dup(MPI_COMM_SELF, &self));
    compare(self, MPI_COMM_SELF, MPI_CONGRUENT);
    compare(self, second, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    OK(MPI_Comm_free(&self));
    OK(MPI_Comm_free(&second));
    attributes();
    inherited();
    nonblocking();
    return finish();
}
