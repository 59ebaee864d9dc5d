// ranks: 1 2 3 8
// MPI_Cancel of receives: one that no message has matched is cancelled, its buffer untouched, and a
// later message goes to the next receive; one that has its message completes normally.
#include "../check.h"

static int right, left;

static int cancelled(const MPI_Status *status) {
    int flag = -1;
    OK(MPI_Test_cancelled(status, &flag));
    return flag;
}

// Unmatched: by exact pattern and by wildcards, completed by wait, test, and the list forms.
static void unmatched(int source, int tag, int way) {
    char in[64], in2[64], out[64];
    int flag = 0, index = -1, count = -1;
    MPI_Request r, send;
    MPI_Status status;
    memset(in, 0x5a, 64);
    fill(out, 64, rank);
    MPI_Irecv(in, 64, MPI_BYTE, source, tag, MPI_COMM_WORLD, &r);
    OK(MPI_Cancel(&r));
    CHECK(r != MPI_REQUEST_NULL);
    switch (way) {
    case 0: OK(MPI_Wait(&r, &status)); break;
    case 1:
        while (!flag) OK(MPI_Test(&r, &flag, &status));
        break;
    case 2: OK(MPI_Waitany(1, &r, &index, &status)); break;
    case 3: OK(MPI_Waitall(1, &r, &status)); break;
    default: OK(MPI_Waitsome(1, &r, &count, &index, &status));
    }
    CHECK(r == MPI_REQUEST_NULL);
    CHECK_EQ(cancelled(&status), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, 64, MPI_BYTE, right, 5, MPI_COMM_WORLD, &send);
    MPI_Recv(in2, 64, MPI_BYTE, left, 5, MPI_COMM_WORLD, &status);
    CHECK_EQ(cancelled(&status), 0);
    CHECK_PATTERN(in2, 64, left);
    CHECK_BYTES(in, 64, 0x5a);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

// The middle one of three is taken out; the others keep their order.
static void from_the_middle(void) {
    int in[3] = {-1, -1, -1}, out[2] = {10 * rank, 10 * rank + 1};
    MPI_Request r[3], s[2];
    MPI_Status status;
    for (int i = 0; i < 3; i++) MPI_Irecv(&in[i], 1, MPI_INT, left, 6, MPI_COMM_WORLD, &r[i]);
    MPI_Cancel(&r[1]);
    MPI_Wait(&r[1], &status);
    CHECK_EQ(cancelled(&status), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Isend(&out[i], 1, MPI_INT, right, 6, MPI_COMM_WORLD, &s[i]);
    MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
    MPI_Wait(&r[0], &status);
    CHECK_EQ(cancelled(&status), 0);
    MPI_Wait(&r[2], &status);
    CHECK_EQ(in[0], 10 * left);
    CHECK_EQ(in[1], -1);
    CHECK_EQ(in[2], 10 * left + 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

// The message is there when the cancel comes: the receive completes with it.
static void matched(void) {
    int in = -1, flag = 0;
    MPI_Request r, send;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&rank, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &send);
    while (!flag) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &status));
    CHECK_EQ(cancelled(&status), 0);
    CHECK_STATUS(status, left, 7, (int)sizeof(int));
    CHECK_EQ(in, left);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

// A race between the cancel and the message: exactly one of the two wins, and no message is lost.
static void race(void) {
    for (int i = 0; i < 200; i++) {
        int in = -1, again = -1;
        MPI_Request r, send;
        MPI_Status status;
        MPI_Irecv(&in, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &r);
        MPI_Isend(&i, 1, MPI_INT, right, 8, MPI_COMM_WORLD, &send);
        MPI_Cancel(&r);
        MPI_Wait(&r, &status);
        if (cancelled(&status)) {
            MPI_Recv(&again, 1, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_EQ(again, i);
            CHECK_EQ(in, -1);
        } else {
            CHECK_EQ(in, i);
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Persistent: the communication is cancelled, the request lives on.
static void persistent(void) {
    int in = -1;
    MPI_Request r, send;
    MPI_Status status;
    MPI_Recv_init(&in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &r);
    for (int round = 0; round < 3; round++) {
        in = -1;
        MPI_Start(&r);
        OK(MPI_Cancel(&r));
        OK(MPI_Wait(&r, &status));
        CHECK_EQ(cancelled(&status), 1);
        CHECK(r != MPI_REQUEST_NULL);
        CHECK_EQ(in, -1);
        MPI_Start(&r);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(&rank, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &send);
        MPI_Wait(&r, &status);
        CHECK_EQ(cancelled(&status), 0);
        CHECK_EQ(in, left);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_free(&r);
}

// Cancelled and then freed instead of waited for.
static void then_free(void) {
    int in = -1, out = rank, got = -1;
    MPI_Request r;
    MPI_Irecv(&in, 1, MPI_INT, left, 10, MPI_COMM_WORLD, &r);
    OK(MPI_Cancel(&r));
    OK(MPI_Request_free(&r));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Sendrecv(&out, 1, MPI_INT, right, 10, &got, 1, MPI_INT, left, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(got, left);
    CHECK_EQ(in, -1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int way = 0; way < 5; way++) {
        unmatched(left, 5, way);
        unmatched(MPI_ANY_SOURCE, 5, way);
        unmatched(left, MPI_ANY_TAG, way);
        unmatched(MPI_ANY_SOURCE, MPI_ANY_TAG, way);
    }
    from_the_middle();
    matched();
    race();
    persistent();
    then_free();
    return finish();
}
