// ranks: 1 2 3
// Cancelling the receive of a matched message: it either completes, or is cancelled and then the message can be found again.
// A buffered send that is cancelled gives its room back; one that is not is received.
#include "../check.h"

static int right, left;

static int cancelled(const MPI_Status *status) {
    int flag = -1;
    MPI_Test_cancelled(status, &flag);
    return flag;
}

static void matched(int n) {
    char *out = get_memory(n), *in = get_memory(n);
    MPI_Message message;
    MPI_Request send, r;
    MPI_Status status;
    fill(out, n, rank);
    MPI_Isend(out, n, MPI_BYTE, right, 1, MPI_COMM_WORLD, &send);
    MPI_Mprobe(left, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, n, MPI_BYTE, &message, &r);
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &status));
    if (cancelled(&status)) {
        MPI_Probe(left, 1, MPI_COMM_WORLD, &status);
        MPI_Recv(in, n, MPI_BYTE, left, 1, MPI_COMM_WORLD, &status);
    }
    CHECK_STATUS(status, left, 1, n);
    CHECK_PATTERN(in, n, left);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void buffered(int n) {
    char *out = get_memory(n), *in = get_memory(n), *room = get_memory(n + MPI_BSEND_OVERHEAD);
    int space = n + MPI_BSEND_OVERHEAD, gone, theirs = -1;
    MPI_Request r;
    MPI_Status status;
    fill(out, n, rank);
    MPI_Buffer_attach(room, space);
    MPI_Ibsend(out, n, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r);
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &status)); // local
    gone = cancelled(&status);
    MPI_Sendrecv(&gone, 1, MPI_INT, right, 3, &theirs, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!theirs) {
        MPI_Recv(in, n, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, n, left);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int flag = -1;
    MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Buffer_flush()); // whatever became of it, the room is free again
    OK(MPI_Bsend(out, n, MPI_BYTE, right, 2, MPI_COMM_WORLD));
    MPI_Recv(in, n, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, n, left);
    MPI_Buffer_detach(&room, &space);
    free(room);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 40, 1000, 20000, 1000000};
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int i = 0; i < 5; i++) {
        matched(sizes[i]);
        buffered(sizes[i]);
    }
    return finish();
}
