// ranks: 1 2 3 8
// no-check: frees the request of a receive
// MPI_Request_free of active requests: the handle is null at once and the communication completes
// later; persistent requests may be freed while active too.
#include "../check.h"

static int right, left;

static void freed_sends(int n) {
    enum { N = 8 };
    char *out[N], *in = get_memory(n);
    for (int i = 0; i < N; i++) {
        MPI_Request r;
        out[i] = get_memory(n);
        fill(out[i], n, 10 * rank + i);
        if (i % 2)
            MPI_Issend(out[i], n, MPI_BYTE, right, i, MPI_COMM_WORLD, &r);
        else
            MPI_Isend(out[i], n, MPI_BYTE, right, i, MPI_COMM_WORLD, &r);
        OK(MPI_Request_free(&r));
        CHECK(r == MPI_REQUEST_NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = N - 1; i >= 0; i--) {
        MPI_Status status;
        MPI_Recv(in, n, MPI_BYTE, left, i, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, left, i, n);
        CHECK_PATTERN(in, n, 10 * left + i);
    }
    MPI_Barrier(MPI_COMM_WORLD); // all are received: the send buffers are free
    for (int i = 0; i < N; i++) free(out[i]);
    free(in);
}

// A freed receive still receives; a later message shows that it has.
static void freed_receive(int n) {
    volatile char *in = get_memory(n + 1);
    char *out = get_memory(n);
    int token = 0, other;
    MPI_Request r, send;
    memset((char *)in, 0x5a, n + 1);
    fill(out, n, rank);
    MPI_Irecv((char *)in, n, MPI_BYTE, left, 20, MPI_COMM_WORLD, &r);
    OK(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Issend(out, n, MPI_BYTE, right, 20, MPI_COMM_WORLD, &send);
    // Synchronous completion says that the right one's receive has begun; a second round says that it
    // has ended, since no message overtakes.
    MPI_Sendrecv(&token, 1, MPI_INT, right, 21, &other, 1, MPI_INT, left, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (double until = MPI_Wtime() + 20; MPI_Wtime() < until;) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 22, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); // give it progress
        if (first_difference((char *)in, n, left) == (size_t)n) break;
    }
    CHECK_PATTERN((char *)in, n, left);
    CHECK_EQ(in[n], 0x5a);
    free((char *)in);
    free(out);
    MPI_Barrier(MPI_COMM_WORLD);
}

// The request is used up only after what it started is done.
static void freed_persistent(int n) {
    char *out = get_memory(n), *in = get_memory(n);
    MPI_Request send, receive;
    fill(out, n, rank + 1);
    MPI_Send_init(out, n, MPI_BYTE, right, 30, MPI_COMM_WORLD, &send);
    MPI_Start(&send);
    OK(MPI_Request_free(&send));
    CHECK(send == MPI_REQUEST_NULL);
    MPI_Recv_init(in, n, MPI_BYTE, left, 30, MPI_COMM_WORLD, &receive);
    MPI_Start(&receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, n, left + 1);
    OK(MPI_Request_free(&receive));
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    free(in);
}

// Handles come back: far more requests than could be kept.
static void many(void) {
    int value = rank, got;
    for (int i = 0; i < 20000; i++) {
        MPI_Request r;
        MPI_Isend(&value, 1, MPI_INT, right, 40, MPI_COMM_WORLD, &r);
        MPI_Request_free(&r);
        MPI_Recv(&got, 1, MPI_INT, left, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got != left) CHECK_EQ(got, left);
    }
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 8, 5000, 500000};
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int i = 0; i < 4; i++) {
        freed_sends(sizes[i]);
        freed_receive(sizes[i]);
        freed_persistent(sizes[i]);
    }
    many();
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
