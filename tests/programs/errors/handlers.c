// ranks: 1 2 3 4 7 8
// Communicators' error handlers: predefined ones set and got back, the program's own called with the right
// communicator and code, on the communicator that the error concerns, and replaced and freed at will.
#include "../check.h"

static int calls, last_code, last_was_world, last_was_self;

static void note(MPI_Comm *comm, int *code, ...) {
    calls++;
    last_code = *code;
    last_was_world = *comm == MPI_COMM_WORLD;
    last_was_self = *comm == MPI_COMM_SELF;
}

// One that has dealt with the error.
static void forgive(MPI_Comm *comm, int *code, ...) {
    note(comm, code);
    *code = MPI_SUCCESS;
}

static int other_calls;

static void other(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
    other_calls++;
}

static void defaults(void) {
    MPI_Errhandler h = MPI_ERRHANDLER_NULL;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &h));
    CHECK(h == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &h));
    CHECK(h == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &h));
    CHECK(h == MPI_ERRORS_RETURN);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &h)); // each has its own
    CHECK(h == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ABORT));
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &h));
    CHECK(h == MPI_ERRORS_ABORT);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

static void own(void) {
    int value = 0, code;
    MPI_Errhandler mine, got;
    OK(MPI_Comm_create_errhandler(note, &mine));
    CHECK(mine != MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    calls = 0;
    code = MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
    CHECK_EQ(calls, 1);
    CHECK_EQ(last_was_world, 1);
    CHECK_EQ(last_code, code);
    CHECK_CLASS(last_code, MPI_ERR_TAG);
    CHECK_TEXT(last_code, "MPI_Send");
    // The same mistake on the other communicator goes to the other's handler.
    calls = 0;
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_SELF), MPI_ERR_TAG);
    CHECK_EQ(calls, 0);
    // Freed handles: the handler stays as long as a communicator uses it.
    OK(MPI_Errhandler_free(&mine));
    CHECK(mine == MPI_ERRHANDLER_NULL);
    OK(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL);
    CHECK_CLASS(MPI_Probe(size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    CHECK_EQ(calls, 1);
    CHECK_CLASS(last_code, MPI_ERR_RANK);
    // A call without an error calls no handler.
    MPI_Send(&value, 0, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    CHECK_EQ(calls, 1);
}

// What a handler leaves for the call to return is what it returns.
static void changed(void) {
    int value = 0;
    MPI_Errhandler mine, before;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before));
    OK(MPI_Comm_create_errhandler(forgive, &mine));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, mine));
    OK(MPI_Errhandler_free(&mine));
    calls = 0;
    OK(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_SELF));
    CHECK_EQ(calls, 1);
    CHECK_CLASS(last_code, MPI_ERR_TAG);
    OK(MPI_Irecv(&value, 0, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]));
    OK(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK_EQ(calls, 2);
    CHECK_CLASS(last_code, MPI_ERR_TRUNCATE);
    CHECK_CLASS(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, before));
    OK(MPI_Errhandler_free(&before));
}

// Library style: note the handler, put one's own, restore.
static void restore(void) {
    int value = 0;
    MPI_Errhandler before, temporary;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
    OK(MPI_Comm_create_errhandler(other, &temporary));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, temporary));
    OK(MPI_Errhandler_free(&temporary));
    MPI_Send(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    CHECK_EQ(other_calls, 1);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
    OK(MPI_Errhandler_free(&before));
    calls = 0;
    MPI_Send(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    CHECK_EQ(other_calls, 1);
    CHECK_EQ(calls, 1);
}

// Which communicator's handler is called: that of the request; MPI_COMM_SELF where there is none.
static void whose(void) {
    int value[2] = {0, 0}, in[1], code;
    MPI_Errhandler self_handler;
    MPI_Request r, null = MPI_REQUEST_NULL;
    OK(MPI_Comm_create_errhandler(other, &self_handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, self_handler));
    calls = other_calls = 0;
    MPI_Irecv(in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r);
    MPI_Send(value, 2, MPI_INT, rank, 3, MPI_COMM_WORLD);
    code = MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK_CLASS(code, MPI_ERR_TRUNCATE);
    CHECK_EQ(calls, 1);
    CHECK_EQ(other_calls, 0);
    CHECK_EQ(last_was_world, 1);
    MPI_Irecv(in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r);
    MPI_Send(value, 2, MPI_INT, 0, 3, MPI_COMM_SELF);
    CHECK_CLASS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK_EQ(calls, 1);
    CHECK_EQ(other_calls, 1);
    CHECK_CLASS(MPI_Request_free(&null), MPI_ERR_REQUEST);
    CHECK_EQ(other_calls, 2);
    CHECK_CLASS(MPI_Send(value, 1, MPI_INT, 0, 1, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_EQ(other_calls, 3);
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &value[0]), MPI_ERR_TYPE);
    CHECK_EQ(other_calls, 4);
    CHECK_EQ(calls, 1);
    // In a list, the handler gets the operation's own code, the caller MPI_ERR_IN_STATUS.
    MPI_Status status;
    MPI_Irecv(in, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r);
    MPI_Send(value, 2, MPI_INT, rank, 3, MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Waitall(1, &r, &status), MPI_ERR_IN_STATUS);
    CHECK_EQ(calls, 2);
    CHECK_CLASS(last_code, MPI_ERR_TRUNCATE);
    CHECK_CLASS(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&self_handler));
}

// The handler called by hand.
static void by_hand(void) {
    int mine = -1;
    calls = 0;
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER));
    CHECK_EQ(calls, 1);
    CHECK_EQ(last_code, MPI_ERR_OTHER);
    CHECK_EQ(last_was_world, 1);
    MPI_Add_error_class(&mine);
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, mine));
    CHECK_EQ(last_code, mine);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, mine));
    CHECK_EQ(calls, 2);
    MPI_Remove_error_class(mine);
}

static void arguments(void) {
    MPI_Errhandler h, null = MPI_ERRHANDLER_NULL;
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, null), MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_NULL, MPI_ERRORS_RETURN), MPI_ERR_COMM, "MPI_Comm_set_errhandler");
    CHECK_ERROR(MPI_Comm_get_errhandler(MPI_COMM_NULL, &h), MPI_ERR_COMM, "MPI_Comm_get_errhandler");
    CHECK_ERROR(MPI_Comm_get_errhandler(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_get_errhandler");
    CHECK_ERROR(MPI_Comm_create_errhandler(NULL, &h), MPI_ERR_ARG, "MPI_Comm_create_errhandler");
    CHECK_ERROR(MPI_Comm_create_errhandler(note, NULL), MPI_ERR_ARG, "MPI_Comm_create_errhandler");
    CHECK_ERROR(MPI_Errhandler_free(NULL), MPI_ERR_ARG, "MPI_Errhandler_free");
    CHECK_ERROR(MPI_Errhandler_free(&null), MPI_ERR_ERRHANDLER, "MPI_Errhandler_free");
    CHECK_ERROR(MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_OTHER), MPI_ERR_COMM, "MPI_Comm_call_errhandler");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    defaults();
    own();
    changed();
    restore();
    whose();
    by_hand();
    arguments();
    return finish();
}
