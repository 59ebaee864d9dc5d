// ranks: 1 2 3
// A message longer than the receive buffer: MPI_ERR_TRUNCATE from whatever completes the receive, the
// text names sender, tag and both sizes, the status names the message, no byte beyond the buffer is
// touched, and the message is consumed so that the next one comes through.
#include "../check.h"

enum { TAG = 4711 };

// 40-byte messages travel in the header, 3000-byte ones eagerly, 400000-byte ones by rendezvous.
static const int lengths[] = {41, 3001, 400001};

static char *in;
static int from;

static void send_one(int n, int synchronous, MPI_Request *request) {
    static char *out;
    if (!out) out = get_memory(400001);
    int to = (rank + 1) % size;
    if (synchronous)
        OK(MPI_Issend(out, n, MPI_BYTE, to, TAG, MPI_COMM_WORLD, request));
    else
        OK(MPI_Isend(out, n, MPI_BYTE, to, TAG, MPI_COMM_WORLD, request));
}

static void check_error(int code, const MPI_Status *status, int n, int room) {
    char text[64];
    CHECK_CLASS(code, MPI_ERR_TRUNCATE);
    CHECK_EQ(status->MPI_SOURCE, from);
    CHECK_EQ(status->MPI_TAG, TAG);
    snprintf(text, sizeof text, "rank %d", from);
    CHECK_TEXT(code, text);
    snprintf(text, sizeof text, "tag %d", TAG);
    CHECK_TEXT(code, text);
    snprintf(text, sizeof text, "%d", n);
    CHECK_TEXT(code, text);
    snprintf(text, sizeof text, "%d", room);
    CHECK_TEXT(code, text);
    CHECK_BYTES(in + room, 400001 - room, 0x5a);
}

// The way the receive is made: 0 blocking, 1 posted early and waited, 2 tested, 3 matched, 4 matched
// nonblocking, 5 persistent, 6 send-receive.
static void one(int way, int n, int room, int synchronous) {
    MPI_Request send, receive;
    MPI_Status status;
    MPI_Message message;
    int code = -1, flag = 0, value = rank, got = -1;
    memset(in, 0x5a, 400001);
    if (way == 1) OK(MPI_Irecv(in, room, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &receive));
    MPI_Barrier(MPI_COMM_WORLD);
    send_one(n, synchronous, &send);
    switch (way) {
    case 0:
        code = MPI_Recv(in, room, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status);
        CHECK_TEXT(code, "MPI_Recv");
        break;
    case 1:
        code = MPI_Wait(&receive, &status);
        CHECK_TEXT(code, "MPI_Wait");
        CHECK(receive == MPI_REQUEST_NULL);
        break;
    case 2:
        OK(MPI_Irecv(in, room, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive));
        for (code = MPI_SUCCESS, flag = 0; code == MPI_SUCCESS && !flag;) code = MPI_Test(&receive, &flag, &status);
        CHECK_TEXT(code, "MPI_Test");
        break;
    case 3:
        OK(MPI_Mprobe(from, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        code = MPI_Mrecv(in, room, MPI_BYTE, &message, &status);
        CHECK_TEXT(code, "MPI_Mrecv");
        break;
    case 4:
        OK(MPI_Mprobe(from, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        OK(MPI_Imrecv(in, room, MPI_BYTE, &message, &receive));
        code = MPI_Wait(&receive, &status);
        break;
    case 5:
        OK(MPI_Recv_init(in, room, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &receive));
        OK(MPI_Start(&receive));
        code = MPI_Wait(&receive, &status);
        OK(MPI_Request_free(&receive));
        break;
    default:
        code = MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, in, room, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                            &status);
        CHECK_TEXT(code, "MPI_Sendrecv");
    }
    check_error(code, &status, n, room);
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    // The next message is untouched by it.
    OK(MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, TAG, &got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(got, from);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    from = (rank + size - 1) % size;
    in = get_memory(400001);
    for (int way = 0; way < 7; way++)
        for (int i = 0; i < 3; i++)
            for (int synchronous = 0; synchronous < 2; synchronous++) {
                one(way, lengths[i], lengths[i] - 1, synchronous);
                one(way, lengths[i], 7, synchronous);
                one(way, lengths[i], 0, synchronous);
            }
    free(in);
    return finish();
}
