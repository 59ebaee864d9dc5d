// ranks: 1 2
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
    copies();
    return finish();
}
