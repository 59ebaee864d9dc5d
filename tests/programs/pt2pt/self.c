// ranks: 1 2 8
// Messages of a rank to itself, over the world and over MPI_COMM_SELF: every mode, small and large,
// receive first and send first, probed, and kept apart by communicator and tag.
#include "../check.h"

static void one(MPI_Comm comm, int me, int n, int mode, int receive_first) {
    char *out = get_memory(n), *in = get_memory(n + 1);
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    MPI_Status status;
    fill(out, n, n + mode);
    in[n] = 0x5a;
    if (receive_first) MPI_Irecv(in, n, MPI_BYTE, me, mode, comm, &receive);
    switch (mode) {
    case 0: MPI_Isend(out, n, MPI_BYTE, me, mode, comm, &send); break;
    case 1: MPI_Ibsend(out, n, MPI_BYTE, me, mode, comm, &send); break;
    case 2: MPI_Issend(out, n, MPI_BYTE, me, mode, comm, &send); break;
    default: MPI_Irsend(out, n, MPI_BYTE, me, mode, comm, &send);
    }
    if (receive_first) {
        MPI_Wait(&receive, &status);
    } else {
        if (mode == 2) {
            int done = -1;
            MPI_Test(&send, &done, MPI_STATUS_IGNORE);
            CHECK_EQ(done, 0); // synchronous: no receive is posted yet
        }
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        CHECK_STATUS(status, me, mode, n);
        MPI_Recv(in, n, MPI_BYTE, me, mode, comm, &status);
    }
    CHECK_STATUS(status, me, mode, n);
    CHECK_PATTERN(in, n, n + mode);
    CHECK_EQ(in[n], 0x5a);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    free(out);
    free(in);
}

// Blocking modes with the receive posted before.
static void blocking(MPI_Comm comm, int me, int n, int mode) {
    char *out = get_memory(n), *in = get_memory(n);
    MPI_Request receive;
    MPI_Status status;
    fill(out, n, mode + 50);
    MPI_Irecv(in, n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &receive);
    switch (mode) {
    case 0: MPI_Send(out, n, MPI_BYTE, me, 9, comm); break;
    case 1: MPI_Bsend(out, n, MPI_BYTE, me, 9, comm); break;
    case 2: MPI_Ssend(out, n, MPI_BYTE, me, 9, comm); break;
    default: MPI_Rsend(out, n, MPI_BYTE, me, 9, comm);
    }
    MPI_Wait(&receive, &status);
    CHECK_STATUS(status, me, 9, n);
    CHECK_PATTERN(in, n, mode + 50);
    free(out);
    free(in);
}

// The same tag on two communicators: each message stays in its own.
static void contexts_apart(void) {
    int a = 1, b = 2, got = 0, flag = -1;
    MPI_Request sends[2];
    MPI_Isend(&a, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &sends[0]);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Isend(&b, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &sends[1]);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK_EQ(got, 2);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(got, 1);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 1, 8, 40, 41, 1000, 5000, 70000, 1 << 20};
    start(&argc, &argv);
    int me = -1, alone = -1;
    MPI_Comm_rank(MPI_COMM_SELF, &me);
    MPI_Comm_size(MPI_COMM_SELF, &alone);
    CHECK_EQ(me, 0);
    CHECK_EQ(alone, 1);
    int space = (1 << 20) + MPI_BSEND_OVERHEAD;
    void *buffer = get_memory(space);
    MPI_Buffer_attach(buffer, space);
    for (int mode = 0; mode < 4; mode++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (int first = mode == 3; first < 2; first++) {
                one(MPI_COMM_WORLD, rank, sizes[i], mode, first);
                one(MPI_COMM_SELF, 0, sizes[i], mode, first);
            }
            blocking(MPI_COMM_WORLD, rank, sizes[i], mode);
            blocking(MPI_COMM_SELF, 0, sizes[i], mode);
        }
    contexts_apart();
    MPI_Buffer_detach(&buffer, &space);
    free(buffer);
    return finish();
}
