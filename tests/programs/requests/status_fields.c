// ranks: 1 2
// no-check: waits for requests that are never started
// The status' fields by function: get and set source, tag, error, elements in all widths, cancelled.
#include "../check.h"

static void getters(void) {
    int value = -1, right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request send;
    MPI_Status status;
    status.MPI_ERROR = 4242;
    MPI_Isend(&rank, 1, MPI_INT, right, 17, MPI_COMM_WORLD, &send);
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
    OK(MPI_Status_get_source(&status, &value));
    CHECK_EQ(value, left);
    OK(MPI_Status_get_tag(&status, &value));
    CHECK_EQ(value, 17);
    OK(MPI_Status_get_error(&status, &value));
    CHECK_EQ(value, 4242);
#else
    CHECK_EQ(status.MPI_SOURCE, left);
#endif
}

#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
static void setters(void) {
    MPI_Status status;
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_source(&status, 123));
    OK(MPI_Status_set_tag(&status, 456));
    OK(MPI_Status_set_error(&status, MPI_ERR_TAG));
    CHECK_EQ(status.MPI_SOURCE, 123);
    CHECK_EQ(status.MPI_TAG, 456);
    CHECK_EQ(status.MPI_ERROR, MPI_ERR_TAG);
    OK(MPI_Status_set_source(&status, MPI_PROC_NULL));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}
#endif

static void elements(void) {
    MPI_Status status;
    int n = -1;
    MPI_Count c = -1, large = (MPI_Count)3 << 31;
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_elements(&status, MPI_INT, 10));
    OK(MPI_Get_elements(&status, MPI_INT, &n));
    CHECK_EQ(n, 10);
    OK(MPI_Get_count(&status, MPI_INT, &n));
    CHECK_EQ(n, 10);
    OK(MPI_Get_elements_x(&status, MPI_INT, &c));
    CHECK_EQ(c, 10);
    OK(MPI_Status_set_elements_x(&status, MPI_BYTE, large));
    OK(MPI_Get_elements_x(&status, MPI_BYTE, &c));
    CHECK_EQ(c, large);
    OK(MPI_Get_elements(&status, MPI_BYTE, &n));
    CHECK_EQ(n, MPI_UNDEFINED); // does not fit an int
    OK(MPI_Get_count(&status, MPI_BYTE, &n));
    CHECK_EQ(n, MPI_UNDEFINED);
    OK(MPI_Status_set_elements_c(&status, MPI_DOUBLE, large));
    OK(MPI_Get_elements_c(&status, MPI_DOUBLE, &c));
    CHECK_EQ(c, large);
    OK(MPI_Get_count_c(&status, MPI_DOUBLE, &c));
    CHECK_EQ(c, large);
    OK(MPI_Status_set_elements(&status, MPI_DOUBLE, 0));
    OK(MPI_Get_count(&status, MPI_DOUBLE, &n));
    CHECK_EQ(n, 0);
}

static void cancelled(void) {
    MPI_Status status;
    int flag = -1;
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_elements(&status, MPI_INT, 3));
    OK(MPI_Status_set_cancelled(&status, 1));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK_EQ(flag, 1);
    OK(MPI_Status_set_cancelled(&status, 0));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK_EQ(flag, 0);
    OK(MPI_Status_set_cancelled(&status, -5)); // any true value
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK_EQ(!!flag, 1);
    int n = -1;
    OK(MPI_Status_set_cancelled(&status, 0));
    OK(MPI_Get_elements(&status, MPI_INT, &n));
    CHECK_EQ(n, 3); // the flag and the count do not disturb each other
}

static void dirty(MPI_Status *status) {
    memset(status, 0x11, sizeof *status);
    status->MPI_ERROR = 4242;
}

// Where no request is active, the status is empty, and that includes the error field.
static void check_empty(const MPI_Status *status) {
    int n = -1, flag = -1;
    CHECK_EQ(status->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(status->MPI_ERROR, MPI_SUCCESS);
    OK(MPI_Get_count(status, MPI_INT, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Test_cancelled(status, &flag));
    CHECK_EQ(flag, 0);
}

static void empty_for(MPI_Request request) {
    MPI_Request requests[2] = {request, MPI_REQUEST_NULL};
    MPI_Status statuses[2], *status = statuses;
    int flag, index;
    dirty(status);
    OK(MPI_Wait(requests, status));
    check_empty(status);
    dirty(status);
    OK(MPI_Test(requests, &flag, status));
    CHECK_EQ(flag, 1);
    check_empty(status);
    dirty(status);
    OK(MPI_Request_get_status(requests[0], &flag, status));
    CHECK_EQ(flag, 1);
    check_empty(status);
    dirty(status);
    OK(MPI_Waitany(2, requests, &index, status));
    CHECK_EQ(index, MPI_UNDEFINED);
    check_empty(status);
    dirty(status);
    OK(MPI_Testany(2, requests, &index, &flag, status));
    CHECK_EQ(flag, 1);
    check_empty(status);
    for (int i = 0; i < 2; i++) dirty(statuses + i);
    OK(MPI_Waitall(2, requests, statuses));
    for (int i = 0; i < 2; i++) check_empty(statuses + i);
    for (int i = 0; i < 2; i++) dirty(statuses + i);
    OK(MPI_Testall(2, requests, &flag, statuses));
    for (int i = 0; i < 2; i++) check_empty(statuses + i);
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
    dirty(status);
    OK(MPI_Request_get_status_any(2, requests, &index, &flag, status));
    CHECK_EQ(index, MPI_UNDEFINED);
    check_empty(status);
    for (int i = 0; i < 2; i++) dirty(statuses + i);
    OK(MPI_Request_get_status_all(2, requests, &flag, statuses));
    for (int i = 0; i < 2; i++) check_empty(statuses + i);
#endif
}

static void empty(void) {
    int value = 0;
    MPI_Request inactive;
    empty_for(MPI_REQUEST_NULL);
    MPI_Recv_init(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &inactive);
    empty_for(inactive);
    MPI_Request_free(&inactive);
}

// A status may be copied like any structure.
static void copies(void) {
    int value[4] = {1, 2, 3, 4}, got[4], n = -1;
    MPI_Request send;
    MPI_Status status, copy;
    MPI_Isend(value, 4, MPI_INT, rank, 3, MPI_COMM_WORLD, &send);
    MPI_Recv(got, 4, MPI_INT, rank, 3, MPI_COMM_WORLD, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    copy = status;
    memset(&status, 0xff, sizeof status);
    OK(MPI_Get_count(&copy, MPI_INT, &n));
    CHECK_EQ(n, 4);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    getters();
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
    setters();
#endif
    elements();
    cancelled();
    empty();
    copies();
    return finish();
}
