// ranks: 1 2
// one-host: between hosts a message leaves the buffer when the socket has taken it
// Too little room is MPI_ERR_BUFFER with the call and the sizes in the text, nothing is sent then, and
// everything works again once there is room.
#include "../check.h"

static int right, left;

static int send_by(int way, const void *buf, int n, MPI_Request *r) {
    *r = MPI_REQUEST_NULL;
    switch (way) {
    case 0: return MPI_Bsend(buf, n, MPI_BYTE, right, 1, MPI_COMM_WORLD);
    case 1: return MPI_Ibsend(buf, n, MPI_BYTE, right, 1, MPI_COMM_WORLD, r);
    default: {
        int code = MPI_Bsend_init(buf, n, MPI_BYTE, right, 1, MPI_COMM_WORLD, r);
        if (code != MPI_SUCCESS) return code;
        code = MPI_Start(r);
        if (code != MPI_SUCCESS) MPI_Request_free(r);
        return code;
    }
    }
}

static const char *const names[] = {"MPI_Bsend", "MPI_Ibsend", "MPI_Start"};

int main(int argc, char **argv) {
    enum { N = 100000 };
    start(&argc, &argv);
    return_errors();
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    char *out = get_memory(N), *in = get_memory(N), *buffer = get_memory(2 * N), *got;
    MPI_Request r;
    int n, flag;
    fill(out, N, rank);
    for (int way = 0; way < 3; way++) {
        // No buffer at all: as if one of size zero were attached.
        CHECK_ERROR(send_by(way, out, N, &r), MPI_ERR_BUFFER, names[way]);
        // One that is too small for the message even when empty.
        OK(MPI_Buffer_attach(buffer, N / 2));
        int code = send_by(way, out, N, &r);
        CHECK_ERROR(code, MPI_ERR_BUFFER, names[way]);
        CHECK_TEXT(code, "100000");
        CHECK_TEXT(code, "50000");
        OK(MPI_Buffer_detach(&got, &n));
        // A buffer with room for a single message: the second finds it full while no rank receives.
        OK(MPI_Buffer_attach(buffer, N + MPI_BSEND_OVERHEAD));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(send_by(way, out, N, &r));
        MPI_Request second;
        CHECK_ERROR(send_by(way, out, N, &second), MPI_ERR_BUFFER, names[way]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(in, N, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, N, left);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (way == 2) MPI_Request_free(&r);
        OK(MPI_Buffer_detach(&got, &n));
        OK(MPI_Buffer_attach(buffer, N + MPI_BSEND_OVERHEAD));
        OK(send_by(way, out, N, &r));
        MPI_Recv(in, N, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (way == 2) MPI_Request_free(&r);
        OK(MPI_Buffer_detach(&got, &n));
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0); // what failed was not sent
    }
    free(out);
    free(in);
    free(buffer);
    return finish();
}
