// ranks: 2 4
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// no-check: receives share a buffer
// What calls of point-to-point communication say when a failure is known before; others feel nothing.
#include "ft.h"

static int dead;

static void blocking(void) {
    int value = 7, flag = -1;
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    FAILS(MPI_Recv(&value, 1, MPI_INT, dead, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
    FAILS(MPI_Send(&value, 1, MPI_INT, dead, 1, MPI_COMM_WORLD), PROC_FAILED);
    FAILS(MPI_Ssend(&value, 1, MPI_INT, dead, 1, MPI_COMM_WORLD), PROC_FAILED);
    FAILS(MPI_Rsend(&value, 1, MPI_INT, dead, 1, MPI_COMM_WORLD), PROC_FAILED);
    FAILS(MPI_Probe(dead, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
    FAILS(MPI_Iprobe(dead, 1, MPI_COMM_WORLD, &flag, &status), PROC_FAILED);
    FAILS(MPI_Mprobe(dead, 1, MPI_COMM_WORLD, &message, &status), PROC_FAILED);
    FAILS(MPI_Improbe(dead, 1, MPI_COMM_WORLD, &flag, &message, &status), PROC_FAILED);
    FAILS(MPI_Sendrecv(&value, 1, MPI_INT, dead, 1, &value, 1, MPI_INT, dead, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
}

static void long_messages(void) {
    enum { LENGTH = 4 << 20 };
    char *buf = get_memory(LENGTH);
    FAILS(MPI_Send(buf, LENGTH, MPI_BYTE, dead, 1, MPI_COMM_WORLD), PROC_FAILED);
    FAILS(MPI_Recv(buf, LENGTH, MPI_BYTE, dead, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), PROC_FAILED);
    free(buf);
}

// A failed request is complete; errors of several are in their statuses.
static void nonblocking(void) {
    int in = 0, out = 1, flag = -1, index = -1, count = -1, indices[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Irecv(&in, 1, MPI_INT, dead, 2, MPI_COMM_WORLD, &requests[0]));
    FAILS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), PROC_FAILED);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    OK(MPI_Isend(&out, 1, MPI_INT, dead, 2, MPI_COMM_WORLD, &requests[0]));
    int code = MPI_SUCCESS;
    for (flag = 0; !flag && code == MPI_SUCCESS;) code = MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(code, PROC_FAILED);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    OK(MPI_Irecv(&in, 1, MPI_INT, dead, 2, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Irecv(&in, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &requests[1]));
    FAILS(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE), PROC_FAILED);
    CHECK(index == 0 && requests[0] == MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    OK(MPI_Irecv(&in, 1, MPI_INT, dead, 2, MPI_COMM_WORLD, &requests[0]));
    CHECK_CLASS(MPI_Waitsome(2, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    CHECK(count == 1 && indices[0] == 0 && statuses[0].MPI_ERROR == PROC_FAILED);
    OK(MPI_Irecv(&in, 1, MPI_INT, dead, 2, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Send(&out, 1, MPI_INT, rank, 99, MPI_COMM_WORLD));
    CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK_EQ(statuses[0].MPI_ERROR, PROC_FAILED);
    CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQ(in, 1);
}

static void persistent(void) {
    int value = 3;
    MPI_Request request;
    OK(MPI_Recv_init(&value, 1, MPI_INT, dead, 3, MPI_COMM_WORLD, &request));
    for (int turn = 0; turn < 2; turn++) {
        OK(MPI_Start(&request));
        FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), PROC_FAILED);
        CHECK(request != MPI_REQUEST_NULL);
    }
    OK(MPI_Request_free(&request));
    OK(MPI_Send_init(&value, 1, MPI_INT, dead, 3, MPI_COMM_WORLD, &request));
    OK(MPI_Start(&request));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), PROC_FAILED);
    OK(MPI_Request_free(&request));
}

// Bytes of a buffered send to the dead are dropped.
static void buffered(void) {
    char space[MPI_BSEND_OVERHEAD + 64];
    void *back;
    int value = 1, bytes;
    MPI_Buffer_attach(space, sizeof space);
    int code = MPI_Bsend(&value, 1, MPI_INT, dead, 4, MPI_COMM_WORLD);
    CHECK(code == MPI_SUCCESS || code == PROC_FAILED);
    OK(MPI_Buffer_detach(&back, &bytes));
}

int main(int argc, char **argv) {
    MPI_Comm half;
    ft_start(&argc, &argv);
    dead = size - 1;
    // The others have a communicator without the one that dies.
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == dead, rank, &half));
    meet_at(dead);
    if (rank == dead) die();
    await_failures(MPI_COMM_WORLD, 1);
    blocking();
    long_messages();
    nonblocking();
    persistent();
    buffered();
    // Rule 1: other communicators, and messages between the living, feel nothing.
    int next = (rank + 1) % dead, before = (rank + dead - 1) % dead, got = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 5, &got, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQ(got, before);
    OK(MPI_Barrier(half));
    CHECK_EQ(failures(half), 0);
    MPI_Comm_free(&half);
    return finish();
}
