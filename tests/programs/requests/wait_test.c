// ranks: 1 2 3 8
// no-check: waits for requests that are never started
// MPI_Wait and MPI_Test: completion sets the handle to null and the status to the operation's; null and
// inactive requests give an empty status at once; an incomplete request stays as it is.
#include "../check.h"

static int right, left;

static void null_and_inactive(void) {
    MPI_Request null = MPI_REQUEST_NULL, inactive;
    MPI_Status status;
    int flag = 0, value = 0;
    memset(&status, 0x11, sizeof status);
    OK(MPI_Wait(&null, &status));
    CHECK(null == MPI_REQUEST_NULL);
    CHECK_EMPTY(status);
    memset(&status, 0x11, sizeof status);
    OK(MPI_Test(&null, &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_EMPTY(status);
    OK(MPI_Wait(&null, MPI_STATUS_IGNORE));
    MPI_Recv_init(&value, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &inactive);
    MPI_Request before = inactive;
    memset(&status, 0x11, sizeof status);
    OK(MPI_Wait(&inactive, &status));
    CHECK_EMPTY(status);
    flag = 0;
    memset(&status, 0x11, sizeof status);
    OK(MPI_Test(&inactive, &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_EMPTY(status);
    CHECK(inactive == before);
    OK(MPI_Request_free(&inactive));
    CHECK(inactive == MPI_REQUEST_NULL);
}

static void incomplete(void) {
    int value = -1, mine = rank, flag = -1;
    MPI_Request receive, before, send;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &receive);
    before = receive;
    for (int i = 0; i < 10; i++) {
        OK(MPI_Test(&receive, &flag, &status));
        CHECK_EQ(flag, 0);
        CHECK(receive == before);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&mine, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &send);
    for (flag = 0; !flag;) OK(MPI_Test(&receive, &flag, &status));
    CHECK(receive == MPI_REQUEST_NULL);
    CHECK_STATUS(status, left, 2, (int)sizeof(int));
    CHECK_EQ(value, left);
    for (flag = 0; !flag;) OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
    CHECK(send == MPI_REQUEST_NULL);
}

// MPI_ERROR is not touched where the call returns a single status.
static void error_field(void) {
    int value = -1, flag = 0;
    MPI_Request send, receive;
    MPI_Status status;
    for (int by_test = 0; by_test < 2; by_test++) {
        status.MPI_ERROR = 123456;
        MPI_Irecv(&value, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &receive);
        MPI_Isend(&rank, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &send);
        if (by_test)
            for (flag = 0; !flag;) MPI_Test(&receive, &flag, &status);
        else
            MPI_Wait(&receive, &status);
        CHECK_EQ(status.MPI_ERROR, 123456);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    status.MPI_ERROR = 123456;
    MPI_Isend(&rank, 1, MPI_INT, right, 4, MPI_COMM_WORLD, &send);
    MPI_Recv(&value, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &status);
    CHECK_EQ(status.MPI_ERROR, 123456);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

// Completed in another order than started.
static void out_of_order(void) {
    enum { N = 20 };
    int out[N], in[N];
    MPI_Request sends[N], receives[N];
    MPI_Status status;
    for (int i = 0; i < N; i++) MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &receives[i]);
    for (int i = 0; i < N; i++) {
        out[i] = 100 * rank + i;
        MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &sends[i]);
    }
    for (int i = N - 1; i >= 0; i--) {
        MPI_Wait(&receives[i * 7 % N], &status);
        CHECK_STATUS(status, left, i * 7 % N, (int)sizeof(int));
        MPI_Wait(&sends[i * 3 % N], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < N; i++) CHECK_EQ(in[i], 100 * left + i);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    null_and_inactive();
    incomplete();
    error_field();
    out_of_order();
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
