// ranks: 1 2
// no-check: requests that fail share buffers
// Every argument error of the functions that complete, start, free, cancel and look at requests, and of those that
// read and write statuses.
#include "../check.h"

static MPI_Request pending, inactive;
static int value;

static int query(void *extra, MPI_Status *status) { return extra == status ? MPI_ERR_OTHER : MPI_SUCCESS; }
static int release(void *extra) { return extra ? MPI_ERR_OTHER : MPI_SUCCESS; }
static int cancel(void *extra, int complete) { return extra && complete ? MPI_ERR_OTHER : MPI_SUCCESS; }

static void generalized(void) {
    MPI_Request r = MPI_REQUEST_NULL, copy;
    CHECK_ERROR(MPI_Grequest_start(query, release, cancel, NULL, NULL), MPI_ERR_ARG, "MPI_Grequest_start");
    OK(MPI_Grequest_start(query, release, cancel, NULL, &r));
    CHECK_ERROR(MPI_Start(&r), MPI_ERR_REQUEST, "MPI_Start");
    OK(MPI_Grequest_complete(r));
    CHECK_ERROR(MPI_Grequest_complete(r), MPI_ERR_REQUEST, "MPI_Grequest_complete"); // once only
    copy = r;
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Grequest_complete(copy), MPI_ERR_REQUEST, "MPI_Grequest_complete");
}

static void single(void) {
    int flag = 0;
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_ERROR(MPI_Wait(NULL, &status), MPI_ERR_ARG, "MPI_Wait");
    CHECK_ERROR(MPI_Test(NULL, &flag, &status), MPI_ERR_ARG, "MPI_Test");
    CHECK_ERROR(MPI_Test(&pending, NULL, &status), MPI_ERR_ARG, "MPI_Test");
    CHECK_ERROR(MPI_Request_free(NULL), MPI_ERR_ARG, "MPI_Request_free");
    CHECK_ERROR(MPI_Request_free(&null), MPI_ERR_REQUEST, "MPI_Request_free");
    CHECK_ERROR(MPI_Cancel(NULL), MPI_ERR_ARG, "MPI_Cancel");
    CHECK_ERROR(MPI_Cancel(&null), MPI_ERR_REQUEST, "MPI_Cancel");
    CHECK_ERROR(MPI_Request_get_status(pending, NULL, &status), MPI_ERR_ARG, "MPI_Request_get_status");
    CHECK_ERROR(MPI_Start(NULL), MPI_ERR_ARG, "MPI_Start");
    CHECK_ERROR(MPI_Start(&null), MPI_ERR_REQUEST, "MPI_Start");
    CHECK_ERROR(MPI_Start(&pending), MPI_ERR_REQUEST, "MPI_Start"); // not a persistent one
    OK(MPI_Start(&inactive));
    CHECK_ERROR(MPI_Start(&inactive), MPI_ERR_REQUEST, "MPI_Start"); // active
    MPI_Cancel(&inactive);
    MPI_Wait(&inactive, MPI_STATUS_IGNORE);
    CHECK_ERROR(MPI_Grequest_complete(null), MPI_ERR_REQUEST, "MPI_Grequest_complete");
    CHECK_ERROR(MPI_Grequest_complete(pending), MPI_ERR_REQUEST, "MPI_Grequest_complete");
}

static void lists(void) {
    int index, flag, count, indices[2];
    MPI_Request list[2] = {pending, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    CHECK_ERROR(MPI_Waitany(-1, list, &index, statuses), MPI_ERR_COUNT, "MPI_Waitany");
    CHECK_ERROR(MPI_Waitany(2, NULL, &index, statuses), MPI_ERR_ARG, "MPI_Waitany");
    CHECK_ERROR(MPI_Waitany(2, list, NULL, statuses), MPI_ERR_ARG, "MPI_Waitany");
    CHECK_ERROR(MPI_Testany(-1, list, &index, &flag, statuses), MPI_ERR_COUNT, "MPI_Testany");
    CHECK_ERROR(MPI_Testany(2, NULL, &index, &flag, statuses), MPI_ERR_ARG, "MPI_Testany");
    CHECK_ERROR(MPI_Testany(2, list, NULL, &flag, statuses), MPI_ERR_ARG, "MPI_Testany");
    CHECK_ERROR(MPI_Testany(2, list, &index, NULL, statuses), MPI_ERR_ARG, "MPI_Testany");
    CHECK_ERROR(MPI_Waitall(-1, list, statuses), MPI_ERR_COUNT, "MPI_Waitall");
    CHECK_ERROR(MPI_Waitall(2, NULL, statuses), MPI_ERR_ARG, "MPI_Waitall");
    CHECK_ERROR(MPI_Testall(-1, list, &flag, statuses), MPI_ERR_COUNT, "MPI_Testall");
    CHECK_ERROR(MPI_Testall(2, NULL, &flag, statuses), MPI_ERR_ARG, "MPI_Testall");
    CHECK_ERROR(MPI_Testall(2, list, NULL, statuses), MPI_ERR_ARG, "MPI_Testall");
    CHECK_ERROR(MPI_Waitsome(-1, list, &count, indices, statuses), MPI_ERR_COUNT, "MPI_Waitsome");
    CHECK_ERROR(MPI_Waitsome(2, NULL, &count, indices, statuses), MPI_ERR_ARG, "MPI_Waitsome");
    CHECK_ERROR(MPI_Waitsome(2, list, NULL, indices, statuses), MPI_ERR_ARG, "MPI_Waitsome");
    CHECK_ERROR(MPI_Waitsome(2, list, &count, NULL, statuses), MPI_ERR_ARG, "MPI_Waitsome");
    CHECK_ERROR(MPI_Testsome(-1, list, &count, indices, statuses), MPI_ERR_COUNT, "MPI_Testsome");
    CHECK_ERROR(MPI_Testsome(2, NULL, &count, indices, statuses), MPI_ERR_ARG, "MPI_Testsome");
    CHECK_ERROR(MPI_Testsome(2, list, NULL, indices, statuses), MPI_ERR_ARG, "MPI_Testsome");
    CHECK_ERROR(MPI_Testsome(2, list, &count, NULL, statuses), MPI_ERR_ARG, "MPI_Testsome");
    CHECK_ERROR(MPI_Startall(-1, list), MPI_ERR_COUNT, "MPI_Startall");
    CHECK_ERROR(MPI_Startall(1, NULL), MPI_ERR_ARG, "MPI_Startall");
    CHECK_ERROR(MPI_Startall(2, list), MPI_ERR_REQUEST, "MPI_Startall");
    CHECK(list[0] == pending);
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
    CHECK_ERROR(MPI_Request_get_status_any(-1, list, &index, &flag, statuses), MPI_ERR_COUNT, "MPI_Request_get_status_any");
    CHECK_ERROR(MPI_Request_get_status_any(2, NULL, &index, &flag, statuses), MPI_ERR_ARG, "MPI_Request_get_status_any");
    CHECK_ERROR(MPI_Request_get_status_any(2, list, NULL, &flag, statuses), MPI_ERR_ARG, "MPI_Request_get_status_any");
    CHECK_ERROR(MPI_Request_get_status_any(2, list, &index, NULL, statuses), MPI_ERR_ARG, "MPI_Request_get_status_any");
    CHECK_ERROR(MPI_Request_get_status_all(-1, list, &flag, statuses), MPI_ERR_COUNT, "MPI_Request_get_status_all");
    CHECK_ERROR(MPI_Request_get_status_all(2, NULL, &flag, statuses), MPI_ERR_ARG, "MPI_Request_get_status_all");
    CHECK_ERROR(MPI_Request_get_status_all(2, list, NULL, statuses), MPI_ERR_ARG, "MPI_Request_get_status_all");
    CHECK_ERROR(MPI_Request_get_status_some(-1, list, &count, indices, statuses), MPI_ERR_COUNT, "MPI_Request_get_status_some");
    CHECK_ERROR(MPI_Request_get_status_some(2, NULL, &count, indices, statuses), MPI_ERR_ARG, "MPI_Request_get_status_some");
    CHECK_ERROR(MPI_Request_get_status_some(2, list, NULL, indices, statuses), MPI_ERR_ARG, "MPI_Request_get_status_some");
    CHECK_ERROR(MPI_Request_get_status_some(2, list, &count, NULL, statuses), MPI_ERR_ARG, "MPI_Request_get_status_some");
#endif
}

static void statuses(void) {
    MPI_Status status;
    MPI_Count c;
    int n, flag;
    memset(&status, 0, sizeof status);
    MPI_Datatype none = MPI_DATATYPE_NULL;
    CHECK_ERROR(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &n), MPI_ERR_ARG, "MPI_Get_count");
    CHECK_ERROR(MPI_Get_count(&status, none, &n), MPI_ERR_TYPE, "MPI_Get_count");
    CHECK_ERROR(MPI_Get_count(&status, MPI_INT, NULL), MPI_ERR_ARG, "MPI_Get_count");
    CHECK_ERROR(MPI_Get_count_c(MPI_STATUS_IGNORE, MPI_INT, &c), MPI_ERR_ARG, "MPI_Get_count");
    CHECK_ERROR(MPI_Get_count_c(&status, none, &c), MPI_ERR_TYPE, "MPI_Get_count");
    CHECK_ERROR(MPI_Get_count_c(&status, MPI_INT, NULL), MPI_ERR_ARG, "MPI_Get_count");
    CHECK_ERROR(MPI_Get_elements(MPI_STATUS_IGNORE, MPI_INT, &n), MPI_ERR_ARG, "MPI_Get_elements");
    CHECK_ERROR(MPI_Get_elements(&status, none, &n), MPI_ERR_TYPE, "MPI_Get_elements");
    CHECK_ERROR(MPI_Get_elements(&status, MPI_INT, NULL), MPI_ERR_ARG, "MPI_Get_elements");
    CHECK_ERROR(MPI_Get_elements_x(MPI_STATUS_IGNORE, MPI_INT, &c), MPI_ERR_ARG, "MPI_Get_elements_x");
    CHECK_ERROR(MPI_Get_elements_x(&status, none, &c), MPI_ERR_TYPE, "MPI_Get_elements_x");
    CHECK_ERROR(MPI_Get_elements_x(&status, MPI_INT, NULL), MPI_ERR_ARG, "MPI_Get_elements_x");
    CHECK_ERROR(MPI_Get_elements_c(MPI_STATUS_IGNORE, MPI_INT, &c), MPI_ERR_ARG, "MPI_Get_elements");
    CHECK_ERROR(MPI_Get_elements_c(&status, none, &c), MPI_ERR_TYPE, "MPI_Get_elements");
    CHECK_ERROR(MPI_Get_elements_c(&status, MPI_INT, NULL), MPI_ERR_ARG, "MPI_Get_elements");
    CHECK_ERROR(MPI_Test_cancelled(MPI_STATUS_IGNORE, &flag), MPI_ERR_ARG, "MPI_Test_cancelled");
    CHECK_ERROR(MPI_Test_cancelled(&status, NULL), MPI_ERR_ARG, "MPI_Test_cancelled");
    CHECK_ERROR(MPI_Status_set_cancelled(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG, "MPI_Status_set_cancelled");
    CHECK_ERROR(MPI_Status_set_elements(MPI_STATUS_IGNORE, MPI_INT, 1), MPI_ERR_ARG, "MPI_Status_set_elements");
    CHECK_ERROR(MPI_Status_set_elements(&status, none, 1), MPI_ERR_TYPE, "MPI_Status_set_elements");
    CHECK_ERROR(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT, "MPI_Status_set_elements");
    CHECK_ERROR(MPI_Status_set_elements_x(MPI_STATUS_IGNORE, MPI_INT, 1), MPI_ERR_ARG, "MPI_Status_set_elements_x");
    CHECK_ERROR(MPI_Status_set_elements_x(&status, none, 1), MPI_ERR_TYPE, "MPI_Status_set_elements_x");
    CHECK_ERROR(MPI_Status_set_elements_x(&status, MPI_INT, -1), MPI_ERR_COUNT, "MPI_Status_set_elements_x");
    CHECK_ERROR(MPI_Status_set_elements_c(&status, MPI_INT, -1), MPI_ERR_COUNT, "MPI_Status_set_elements");
    CHECK_ERROR(MPI_Status_set_elements_c(&status, none, 1), MPI_ERR_TYPE, "MPI_Status_set_elements");
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
    CHECK_ERROR(MPI_Status_get_source(MPI_STATUS_IGNORE, &n), MPI_ERR_ARG, "MPI_Status_get_source");
    CHECK_ERROR(MPI_Status_get_source(&status, NULL), MPI_ERR_ARG, "MPI_Status_get_source");
    CHECK_ERROR(MPI_Status_get_tag(MPI_STATUS_IGNORE, &n), MPI_ERR_ARG, "MPI_Status_get_tag");
    CHECK_ERROR(MPI_Status_get_tag(&status, NULL), MPI_ERR_ARG, "MPI_Status_get_tag");
    CHECK_ERROR(MPI_Status_get_error(MPI_STATUS_IGNORE, &n), MPI_ERR_ARG, "MPI_Status_get_error");
    CHECK_ERROR(MPI_Status_get_error(&status, NULL), MPI_ERR_ARG, "MPI_Status_get_error");
    CHECK_ERROR(MPI_Status_set_source(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG, "MPI_Status_set_source");
    CHECK_ERROR(MPI_Status_set_tag(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG, "MPI_Status_set_tag");
    CHECK_ERROR(MPI_Status_set_error(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG, "MPI_Status_set_error");
#endif
}

// A send-receive may not be cancelled.
static void cancel_sendrecv(void) {
    int out = 1, in = 0;
    MPI_Request r;
    MPI_Isendrecv(&out, 1, MPI_INT, rank, 5, &in, 1, MPI_INT, rank, 6, MPI_COMM_WORLD, &r);
    CHECK_ERROR(MPI_Cancel(&r), MPI_ERR_REQUEST, "MPI_Cancel");
    MPI_Sendrecv(&out, 1, MPI_INT, rank, 6, &in, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_EQ(in, 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &pending);
    MPI_Recv_init(&value, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &inactive);
    single();
    generalized();
    lists();
    statuses();
    cancel_sendrecv();
    // What the failing calls were given is as alive as before.
    int out = 3;
    MPI_Send(&out, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    OK(MPI_Wait(&pending, MPI_STATUS_IGNORE));
    CHECK_EQ(value, 3);
    OK(MPI_Request_free(&inactive));
    return finish();
}
