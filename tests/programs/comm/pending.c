// ranks: 1 2 3 4 7 8
// A communicator is freed while operations on it are pending: active and persistent ones complete,
// and later operations do not disturb them. Disconnecting waits for them.
#include "../check.h"

#define BIG 300000

static int next, before;

static void receives_and_sends(void) {
    MPI_Comm comm, other;
    static int in[4], out[4], big_in[BIG], big_out[BIG];
    MPI_Request requests[8];
    int stray = 0;
    for (int round = 0; round < 30; round++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 3; i++) {
            in[i] = -1;
            OK(MPI_Irecv(&in[i], 1, MPI_INT, i == 2 ? MPI_ANY_SOURCE : before, i, comm, &requests[i]));
        }
        OK(MPI_Irecv(big_in, BIG, MPI_INT, before, 3, comm, &requests[3]));
        for (int i = 0; i < BIG; i += 1000) big_out[i] = i + rank + round;
        for (int i = 0; i < 3; i++) out[i] = 100 * round + 10 * i + rank;
        OK(MPI_Isend(big_out, BIG, MPI_INT, next, 3, comm, &requests[4]));
        OK(MPI_Issend(&out[2], 1, MPI_INT, next, 2, comm, &requests[5]));
        OK(MPI_Isend(&out[1], 1, MPI_INT, next, 1, comm, &requests[6]));
        OK(MPI_Isend(&out[0], 1, MPI_INT, next, 0, comm, &requests[7]));
        OK(MPI_Comm_free(&comm));
        // Others come and go, with the same tags.
        for (int i = 0; i < 10; i++) {
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
            OK(MPI_Sendrecv(&i, 1, MPI_INT, next, 0, &stray, 1, MPI_INT, before, 0, other, MPI_STATUS_IGNORE));
            CHECK_EQ(stray, i);
            OK(MPI_Comm_free(&other));
        }
        OK(MPI_Waitall(8, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 3; i++) CHECK_EQ(in[i], 100 * round + 10 * i + before);
        for (int i = 0; i < BIG; i += 1000) CHECK_EQ(big_in[i], i + before + round);
    }
}

static void persistent(void) {
    MPI_Comm comm, other;
    MPI_Request requests[2];
    int in = -1, out = -1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Recv_init(&in, 1, MPI_INT, before, 5, comm, &requests[0]));
    OK(MPI_Send_init(&out, 1, MPI_INT, next, 5, comm, &requests[1]));
    OK(MPI_Comm_free(&comm));
    for (int i = 0; i < 100; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
        out = 10 * i + rank;
        OK(MPI_Startall(2, requests));
        OK(MPI_Comm_free(&other));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_EQ(in, 10 * i + before);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void buffered(void) {
    MPI_Comm comm;
    MPI_Request request;
    static char memory[1000 + MPI_BSEND_OVERHEAD];
    int in = -1, out = rank;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_attach_buffer(comm, memory, sizeof memory));
    OK(MPI_Irecv(&in, 1, MPI_INT, before, 6, comm, &request));
    OK(MPI_Bsend(&out, 1, MPI_INT, next, 6, comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(in, before);
}

static void disconnect(void) {
    MPI_Comm comm;
    MPI_Request requests[2];
    static int in[BIG], out[BIG];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < BIG; i++) in[i] = -1, out[i] = i + rank;
    OK(MPI_Irecv(in, BIG, MPI_INT, before, 7, comm, &requests[0]));
    OK(MPI_Isend(out, BIG, MPI_INT, next, 7, comm, &requests[1]));
    OK(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    // All pending communication has completed, although no wait was called for it yet.
    for (int i = 0; i < BIG; i += 1000) CHECK_EQ(in[i], i + before);
    int flag = 0;
    OK(MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    receives_and_sends();
    persistent();
    buffered();
    disconnect();
    return finish();
}
