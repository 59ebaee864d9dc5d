// ranks: 1 2 3
// MPI_Request_get_status and its any, all and some forms tell the state without ending the request:
// asked again they say the same, and a wait afterwards still gives the status.
#include "../check.h"

enum { N = 4 };
static int right, left, in[N];
static MPI_Request list[N];

static void send_tag(int tag) {
    int value = 10 * rank + tag;
    MPI_Send(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
}

// null, receive tag 1, inactive persistent, active persistent receive tag 3
static void post(void) {
    for (int i = 0; i < N; i++) in[i] = -1;
    list[0] = MPI_REQUEST_NULL;
    MPI_Irecv(&in[1], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &list[1]);
    MPI_Recv_init(&in[2], 1, MPI_INT, left, 2, MPI_COMM_WORLD, &list[2]);
    MPI_Recv_init(&in[3], 1, MPI_INT, left, 3, MPI_COMM_WORLD, &list[3]);
    MPI_Start(&list[3]);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Still active after all the asking: the waits return the real statuses.
static void release(void) {
    MPI_Status status;
    CHECK(list[1] != MPI_REQUEST_NULL);
    MPI_Wait(&list[1], &status);
    CHECK_STATUS(status, left, 1, (int)sizeof(int));
    CHECK_EQ(in[1], 10 * left + 1);
    MPI_Wait(&list[3], &status);
    CHECK_STATUS(status, left, 3, (int)sizeof(int));
    CHECK_EQ(in[3], 10 * left + 3);
    MPI_Request_free(&list[2]);
    MPI_Request_free(&list[3]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void single(void) {
    int flag = -1;
    MPI_Status status;
    post();
    for (int i = 0; i < N; i += 2) {
        memset(&status, 0x11, sizeof status);
        OK(MPI_Request_get_status(list[i], &flag, &status));
        CHECK_EQ(flag, 1);
        CHECK_EMPTY(status);
    }
    OK(MPI_Request_get_status(list[1], &flag, &status));
    CHECK_EQ(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    send_tag(3);
    send_tag(1);
    for (int i = 1; i < N; i += 2)
        for (int again = 0; again < 3; again++) {
            for (flag = 0; !flag;) OK(MPI_Request_get_status(list[i], &flag, &status));
            CHECK_STATUS(status, left, i, (int)sizeof(int));
        }
    release();
}

#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
static void any(void) {
    int flag = -1, index = 0;
    MPI_Status status;
    post();
    OK(MPI_Request_get_status_any(N, list, &index, &flag, &status));
    CHECK_EQ(flag, 0);
    CHECK_EQ(index, MPI_UNDEFINED);
    flag = index = 0;
    memset(&status, 0x11, sizeof status);
    OK(MPI_Request_get_status_any(1, list, &index, &flag, &status)); // nothing active
    CHECK_EQ(flag, 1);
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EMPTY(status);
    OK(MPI_Request_get_status_any(0, NULL, &index, &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_EQ(index, MPI_UNDEFINED);
    MPI_Barrier(MPI_COMM_WORLD);
    send_tag(3);
    for (int again = 0; again < 3; again++) {
        for (flag = 0; !flag;) OK(MPI_Request_get_status_any(N, list, &index, &flag, &status));
        CHECK_EQ(index, 3);
        CHECK_STATUS(status, left, 3, (int)sizeof(int));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    send_tag(1);
    release();
}

static void all(void) {
    int flag = -1;
    MPI_Status statuses[N];
    post();
    send_tag(3);
    for (int i = 0; i < 10; i++) {
        OK(MPI_Request_get_status_all(N, list, &flag, statuses));
        CHECK_EQ(flag, 0);
    }
    OK(MPI_Request_get_status_all(1, list, &flag, statuses));
    CHECK_EQ(flag, 1);
    OK(MPI_Request_get_status_all(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK_EQ(flag, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    send_tag(1);
    for (int again = 0; again < 3; again++) {
        memset(statuses, 0x11, sizeof statuses);
        for (flag = 0; !flag;) OK(MPI_Request_get_status_all(N, list, &flag, statuses));
        CHECK_EMPTY(statuses[0]);
        CHECK_STATUS(statuses[1], left, 1, (int)sizeof(int));
        CHECK_EMPTY(statuses[2]);
        CHECK_STATUS(statuses[3], left, 3, (int)sizeof(int));
    }
    release();
}

static void some(void) {
    int count = -1, indices[N];
    MPI_Status statuses[N];
    post();
    OK(MPI_Request_get_status_some(N, list, &count, indices, statuses));
    CHECK_EQ(count, 0);
    OK(MPI_Request_get_status_some(1, list, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    OK(MPI_Request_get_status_some(0, NULL, &count, indices, MPI_STATUSES_IGNORE));
    CHECK_EQ(count, MPI_UNDEFINED);
    MPI_Barrier(MPI_COMM_WORLD);
    send_tag(3);
    for (int again = 0; again < 3; again++) {
        for (count = 0; !count;) OK(MPI_Request_get_status_some(N, list, &count, indices, statuses));
        CHECK_EQ(count, 1);
        CHECK_EQ(indices[0], 3);
        CHECK_STATUS(statuses[0], left, 3, (int)sizeof(int));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    send_tag(1);
    for (count = 0; count < 2;) OK(MPI_Request_get_status_some(N, list, &count, indices, statuses));
    CHECK_EQ(indices[0] + indices[1], 4);
    for (int i = 0; i < 2; i++) CHECK_STATUS(statuses[i], left, indices[i], (int)sizeof(int));
    release();
}
#endif

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    single();
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
    any();
    all();
    some();
#endif
    return finish();
}
