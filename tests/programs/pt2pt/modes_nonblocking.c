// ranks: 1 2 3 8
// The four nonblocking send modes and the nonblocking receive, in both count widths, with the
// receive posted before the send and, where the mode allows it, after.
#include "../check.h"

typedef enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, MODES } Mode;

static MPI_Request isend_with(Mode mode, int wide, const void *buf, int n, int to, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    switch (mode) {
    case STANDARD:
        OK(wide ? MPI_Isend_c(buf, n, MPI_BYTE, to, tag, comm, &request)
                : MPI_Isend(buf, n, MPI_BYTE, to, tag, comm, &request));
        break;
    case BUFFERED:
        OK(wide ? MPI_Ibsend_c(buf, n, MPI_BYTE, to, tag, comm, &request)
                : MPI_Ibsend(buf, n, MPI_BYTE, to, tag, comm, &request));
        break;
    case SYNCHRONOUS:
        OK(wide ? MPI_Issend_c(buf, n, MPI_BYTE, to, tag, comm, &request)
                : MPI_Issend(buf, n, MPI_BYTE, to, tag, comm, &request));
        break;
    default:
        OK(wide ? MPI_Irsend_c(buf, n, MPI_BYTE, to, tag, comm, &request)
                : MPI_Irsend(buf, n, MPI_BYTE, to, tag, comm, &request));
    }
    CHECK(request != MPI_REQUEST_NULL);
    return request;
}

static MPI_Request irecv_with(int wide, void *buf, int n, int from, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    OK(wide ? MPI_Irecv_c(buf, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request)
            : MPI_Irecv(buf, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request));
    CHECK(request != MPI_REQUEST_NULL);
    return request;
}

static void ring(Mode mode, int wide, int n, int receive_first) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, tag = 40 + mode;
    char *out = get_memory(n), *in = get_memory(n + 1);
    MPI_Request send, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    fill(out, n, rank + n);
    in[n] = 0x5a;
    if (receive_first) receive = irecv_with(wide, in, n, left, tag);
    MPI_Barrier(MPI_COMM_WORLD);
    send = isend_with(mode, wide, out, n, right, tag);
    if (!receive_first) {
        MPI_Barrier(MPI_COMM_WORLD);
        receive = irecv_with(wide, in, n, left, tag);
    }
    MPI_Wait(&receive, &status);
    CHECK(receive == MPI_REQUEST_NULL);
    CHECK_STATUS(status, left, tag, n);
    CHECK_PATTERN(in, n, left + n);
    CHECK_EQ(in[n], 0x5a);
    MPI_Wait(&send, &status);
    CHECK(send == MPI_REQUEST_NULL);
    int cancelled = -1;
    MPI_Test_cancelled(&status, &cancelled);
    CHECK_EQ(cancelled, 0);
    CHECK_PATTERN(out, n, rank + n);
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 1, 8, 40, 64, 500, 4096, 10000, 65537, 300000};
    start(&argc, &argv);
    int space = 2 * (300000 + MPI_BSEND_OVERHEAD);
    void *buffer = get_memory(space);
    MPI_Buffer_attach(buffer, space);
    for (Mode mode = 0; mode < MODES; mode++)
        for (int wide = 0; wide < 2; wide++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                ring(mode, wide, sizes[i], 1);
                if (mode != READY) ring(mode, wide, sizes[i], 0);
            }
    MPI_Buffer_detach(&buffer, &space);
    free(buffer);
    return finish();
}
