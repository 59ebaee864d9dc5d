// ranks: 1 2 3 8
// The four blocking send modes, in both count widths, round a ring: envelope, count, contents, and
// that a receive touches no byte beyond the message.
#include "../check.h"

enum { ROOM = 200000 };
typedef enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, MODES } Mode;

static void send_with(Mode mode, int wide, const void *buf, int n, int to, int tag) {
    switch (mode) {
    case STANDARD:
        OK(wide ? MPI_Send_c(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD)
                : MPI_Send(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD));
        break;
    case BUFFERED:
        OK(wide ? MPI_Bsend_c(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD)
                : MPI_Bsend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD));
        break;
    case SYNCHRONOUS:
        OK(wide ? MPI_Ssend_c(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD)
                : MPI_Ssend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD));
        break;
    default:
        OK(wide ? MPI_Rsend_c(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD)
                : MPI_Rsend(buf, n, MPI_BYTE, to, tag, MPI_COMM_WORLD));
    }
}

// Every rank sends to its right neighbour and has posted the receive from its left one before, so
// that ready mode is legal too and a world of one works.
static void ring(Mode mode, int wide, int n) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, tag = 10 * mode + wide;
    char *out = get_memory(n), *in = get_memory(ROOM + 64);
    memset(in, 0x5a, ROOM + 64);
    fill(out, n, rank + tag);
    MPI_Request receive;
    MPI_Status status;
    if (wide)
        MPI_Irecv_c(in, ROOM, MPI_BYTE, left, tag, MPI_COMM_WORLD, &receive);
    else
        MPI_Irecv(in, ROOM, MPI_BYTE, left, tag, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
    send_with(mode, wide, out, n, right, tag);
    memset(out, 0, n); // completed: the buffer is ours again
    MPI_Wait(&receive, &status);
    CHECK(receive == MPI_REQUEST_NULL);
    CHECK_STATUS(status, left, tag, n);
    CHECK_PATTERN(in, n, left + tag);
    CHECK_BYTES(in + n, ROOM + 64 - n, 0x5a);
    free(out);
    free(in);
}

// Blocking send against blocking receive, even ranks first.
static void pairs(Mode mode, int wide, int n) {
    int peer = rank ^ 1, tag = 100 + mode;
    if (peer >= size || mode == READY) return;
    char *out = get_memory(n), *in = get_memory(n + 1);
    MPI_Status status;
    fill(out, n, rank);
    in[n] = 0x5a;
    for (int turn = 0; turn < 2; turn++) {
        if ((rank & 1) == turn) {
            send_with(mode, wide, out, n, peer, tag);
        } else {
            OK(wide ? MPI_Recv_c(in, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status)
                    : MPI_Recv(in, n, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &status));
            CHECK_STATUS(status, peer, tag, n);
            CHECK_PATTERN(in, n, peer);
            CHECK_EQ(in[n], 0x5a);
        }
    }
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 1, 7, 8, 40, 41, 64, 1000, 4096, 8193, 65536, 131073, ROOM};
    start(&argc, &argv);
    int space = 4 * (ROOM + MPI_BSEND_OVERHEAD);
    void *buffer = get_memory(space);
    MPI_Buffer_attach(buffer, space);
    for (Mode mode = 0; mode < MODES; mode++)
        for (int wide = 0; wide < 2; wide++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                ring(mode, wide, sizes[i]);
                pairs(mode, wide, sizes[i]);
            }
    MPI_Buffer_detach(&buffer, &space);
    free(buffer);
    return finish();
}
