// ranks: 2 4
// sleeps: the receiver sleeps outside MPI
// attempts: 3
// MPI_Cancel of sends that are not received: the wait after it is local, so it returns while the
// receiver makes no MPI call at all. A synchronous send cannot have completed, so it is cancelled;
// any other is either cancelled, and never seen, or has completed, and is received.
// On another host the receiver decides about a message that waits for it, when it next calls MPI.
#include "../check.h"

typedef enum { ISEND, ISSEND, SSEND_INIT, KINDS } Kind;
enum { BIG = 4 << 20, TAG = 5, SYNC = 6, TOLD = 7 };

// Whether ranks 0 and 1 are on one host.
static int is_near;

static void sender(Kind kind, int n, char *out) {
    MPI_Request r;
    MPI_Status status;
    int gone = -1, token = 0;
    fill(out, n, n);
    MPI_Recv(&token, 1, MPI_INT, 1, SYNC, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    switch (kind) {
    case ISEND: MPI_Isend(out, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &r); break;
    case ISSEND: MPI_Issend(out, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &r); break;
    default:
        MPI_Ssend_init(out, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &r);
        MPI_Start(&r);
    }
    double began = MPI_Wtime();
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &status));
    int is_local = is_near || (kind == ISEND && n < BIG);
    CHECK(!is_local || MPI_Wtime() - began < 0.3); // the receiver sleeps for 0.5 s
    MPI_Test_cancelled(&status, &gone);
    if (kind != ISEND) CHECK_EQ(gone, 1);
    if (kind == SSEND_INIT) MPI_Request_free(&r);
    CHECK(r == MPI_REQUEST_NULL);
    memset(out, 0, n); // the buffer is ours again
    MPI_Send(&gone, 1, MPI_INT, 1, TOLD, MPI_COMM_WORLD);
    fill(out, 100, 1);
    MPI_Send(out, 100, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

static void receiver(int n, char *in) {
    MPI_Status status;
    int gone = -1, token = 0;
    MPI_Send(&token, 1, MPI_INT, 0, SYNC, MPI_COMM_WORLD);
    sleep_ms(500);
    MPI_Recv(&gone, 1, MPI_INT, 0, TOLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!gone) {
        MPI_Recv(in, BIG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, 0, TAG, n);
        CHECK_PATTERN(in, n, n);
    }
    MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, 0, TAG, 100);
    MPI_Recv(in, BIG, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, 0, TAG, 100);
    CHECK_PATTERN(in, 100, 1);
}

// A send that has been received cannot be cancelled any more.
static void received(int n, char *buf) {
    int gone = -1, token = 0;
    MPI_Status status;
    if (rank == 0) {
        MPI_Request r;
        fill(buf, n, 3);
        MPI_Isend(buf, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &r);
        MPI_Recv(&token, 1, MPI_INT, 1, SYNC, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        OK(MPI_Cancel(&r));
        OK(MPI_Wait(&r, &status));
        MPI_Test_cancelled(&status, &gone);
        CHECK_EQ(gone, 0);
    } else {
        MPI_Recv(buf, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
        CHECK_PATTERN(buf, n, 3);
        MPI_Send(&token, 1, MPI_INT, 0, SYNC, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 64, 5000, BIG};
    start(&argc, &argv);
    is_near = on_one_host(0, 1);
    char *buf = get_memory(BIG);
    for (int i = 0; i < 4 && rank < 2; i++) {
        for (Kind kind = 0; kind < KINDS; kind++) {
            if (rank == 0)
                sender(kind, sizes[i], buf);
            else
                receiver(sizes[i], buf);
        }
        received(sizes[i], buf);
    }
    free(buf);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
