// ranks: 1 2 3 8
// MPI_Waitany, Testany, Waitall, Testall, Waitsome and Testsome over lists that hold null, inactive,
// pending and complete requests, and over empty lists.
#include "../check.h"

enum { N = 5 };
static int right, left;

static void empty_lists(void) {
    int index = 0, flag = 0, count = 0;
    MPI_Status status;
    memset(&status, 0x11, sizeof status);
    OK(MPI_Waitany(0, NULL, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EMPTY(status);
    index = 0;
    memset(&status, 0x11, sizeof status);
    OK(MPI_Testany(0, NULL, &index, &flag, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    CHECK_EQ(flag, 1);
    CHECK_EMPTY(status);
    OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    flag = 0;
    OK(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK_EQ(flag, 1);
    OK(MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    CHECK_EQ(count, MPI_UNDEFINED);
    count = 0;
    OK(MPI_Testsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    CHECK_EQ(count, MPI_UNDEFINED);
}

static void nothing_active(void) {
    int index = 0, flag = 0, count = 0, indices[3], value = 0;
    MPI_Request list[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, inactive;
    MPI_Status status, statuses[3];
    MPI_Send_init(&value, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &inactive);
    for (int with_inactive = 0; with_inactive < 2; with_inactive++) {
        if (with_inactive) list[1] = inactive;
        index = 0;
        memset(&status, 0x11, sizeof status);
        OK(MPI_Waitany(3, list, &index, &status));
        CHECK_EQ(index, MPI_UNDEFINED);
        CHECK_EMPTY(status);
        index = flag = 0;
        memset(&status, 0x11, sizeof status);
        OK(MPI_Testany(3, list, &index, &flag, &status));
        CHECK_EQ(index, MPI_UNDEFINED);
        CHECK_EQ(flag, 1);
        CHECK_EMPTY(status);
        memset(statuses, 0x11, sizeof statuses);
        OK(MPI_Waitall(3, list, statuses));
        for (int i = 0; i < 3; i++) CHECK_EMPTY(statuses[i]);
        flag = 0;
        memset(statuses, 0x11, sizeof statuses);
        OK(MPI_Testall(3, list, &flag, statuses));
        CHECK_EQ(flag, 1);
        for (int i = 0; i < 3; i++) CHECK_EMPTY(statuses[i]);
        count = 0;
        OK(MPI_Waitsome(3, list, &count, indices, statuses));
        CHECK_EQ(count, MPI_UNDEFINED);
        count = 0;
        OK(MPI_Testsome(3, list, &count, indices, statuses));
        CHECK_EQ(count, MPI_UNDEFINED);
        CHECK(list[1] == (with_inactive ? inactive : MPI_REQUEST_NULL));
    }
    MPI_Request_free(&inactive);
}

// A list of: null, receive tag 1, inactive, receive tag 3, persistent receive tag 4.
static int in[N];
static MPI_Request list[N];

static void post(void) {
    for (int i = 0; i < N; i++) in[i] = -1;
    list[0] = MPI_REQUEST_NULL;
    MPI_Irecv(&in[1], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &list[1]);
    MPI_Recv_init(&in[2], 1, MPI_INT, left, 2, MPI_COMM_WORLD, &list[2]);
    MPI_Irecv(&in[3], 1, MPI_INT, left, 3, MPI_COMM_WORLD, &list[3]);
    MPI_Recv_init(&in[4], 1, MPI_INT, left, 4, MPI_COMM_WORLD, &list[4]);
    MPI_Start(&list[4]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void send_tag(int tag) {
    int value = 10 * rank + tag;
    MPI_Send(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
}

static void check_done(int index, const MPI_Status *status) {
    CHECK(index == 1 || index == 3 || index == 4);
    CHECK_STATUS(*status, left, index, (int)sizeof(int));
    CHECK_EQ(in[index], 10 * left + index);
    CHECK((list[index] == MPI_REQUEST_NULL) == (index != 4)); // a persistent one becomes inactive
}

static void release(void) {
    CHECK(list[0] == MPI_REQUEST_NULL && list[1] == MPI_REQUEST_NULL && list[3] == MPI_REQUEST_NULL);
    CHECK_EQ(in[2], -1);
    MPI_Request_free(&list[2]);
    MPI_Request_free(&list[4]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void any(int by_test) {
    static const int order[] = {3, 4, 1};
    int index = 0, flag = 0;
    MPI_Status status;
    post();
    MPI_Testany(N, list, &index, &flag, &status);
    CHECK_EQ(flag, 0);
    CHECK_EQ(index, MPI_UNDEFINED);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        send_tag(order[i]);
        if (by_test)
            for (flag = 0; !flag;) MPI_Testany(N, list, &index, &flag, &status);
        else
            MPI_Waitany(N, list, &index, &status);
        CHECK_EQ(index, order[i]);
        check_done(index, &status);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Waitany(N, list, &index, &status);
    CHECK_EQ(index, MPI_UNDEFINED);
    release();
}

static void all(int by_test) {
    int flag = -1;
    MPI_Status statuses[N];
    MPI_Request before[N];
    post();
    memcpy(before, list, sizeof list);
    send_tag(1);
    send_tag(4);
    if (by_test) {
        for (int i = 0; i < 20; i++) {
            MPI_Testall(N, list, &flag, statuses);
            CHECK_EQ(flag, 0);
            CHECK(!memcmp(before, list, sizeof list)); // all or none
        }
        MPI_Barrier(MPI_COMM_WORLD);
        send_tag(3);
        for (flag = 0; !flag;) MPI_Testall(N, list, &flag, statuses);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        send_tag(3);
        MPI_Waitall(N, list, statuses);
    }
    CHECK_EMPTY(statuses[0]);
    CHECK_EMPTY(statuses[2]);
    check_done(1, &statuses[1]);
    check_done(3, &statuses[3]);
    check_done(4, &statuses[4]);
    release();
}

static void some(int by_test) {
    int count = -1, indices[N], seen[N] = {0};
    MPI_Status statuses[N];
    post();
    MPI_Testsome(N, list, &count, indices, statuses);
    CHECK_EQ(count, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    send_tag(4);
    send_tag(3);
    for (int left_over = 3; left_over > 0;) {
        if (by_test)
            MPI_Testsome(N, list, &count, indices, statuses);
        else
            MPI_Waitsome(N, list, &count, indices, statuses);
        CHECK(count >= !by_test && count <= left_over);
        for (int i = 0; i < count; i++) {
            check_done(indices[i], &statuses[i]);
            CHECK_EQ(seen[indices[i]]++, 0);
        }
        if (left_over > 1 && left_over - count <= 1) send_tag(1);
        left_over -= count;
    }
    MPI_Testsome(N, list, &count, indices, statuses);
    CHECK_EQ(count, MPI_UNDEFINED);
    release();
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    empty_lists();
    nothing_active();
    for (int by_test = 0; by_test < 2; by_test++) {
        any(by_test);
        all(by_test);
        some(by_test);
    }
    return finish();
}
