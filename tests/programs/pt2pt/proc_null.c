// ranks: 1 2
// MPI_PROC_NULL as source or destination of every call: it returns at once, changes no byte, and the
// status says MPI_PROC_NULL, MPI_ANY_TAG and nothing received.
#include "../check.h"

static char buf[4096];
static MPI_Comm comm = MPI_COMM_WORLD;

#define CHECK_NOTHING(status)                             \
    do {                                                  \
        CHECK_STATUS(status, MPI_PROC_NULL, MPI_ANY_TAG, 0); \
        int elements_ = -1, cancelled_ = -1;              \
        MPI_Get_elements(&(status), MPI_INT, &elements_); \
        CHECK_EQ(elements_, 0);                           \
        MPI_Test_cancelled(&(status), &cancelled_);       \
        CHECK_EQ(cancelled_, 0);                          \
    } while (0)

static void forget(MPI_Status *status) { memset(status, 0x11, sizeof *status); }

static void sends(void) {
    MPI_Request r[4];
    OK(MPI_Send(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm));
    OK(MPI_Ssend(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm));
    OK(MPI_Rsend(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm));
    OK(MPI_Bsend(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm)); // takes no room: none is attached
    OK(MPI_Isend(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[0]));
    OK(MPI_Issend(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[1]));
    OK(MPI_Irsend(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[2]));
    OK(MPI_Ibsend(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[3]));
    for (int i = 0; i < 4; i++) {
        CHECK(r[i] != MPI_REQUEST_NULL);
        OK(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
        CHECK(r[i] == MPI_REQUEST_NULL);
    }
}

static void receives(void) {
    MPI_Status status;
    MPI_Request request;
    int flag = 0;
    forget(&status);
    OK(MPI_Recv(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &status));
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Irecv(buf, 4096, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, comm, &request));
    OK(MPI_Test(&request, &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_NOTHING(status);
    OK(MPI_Recv(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE));
}

static void probes(void) {
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    int flag = 0;
    forget(&status);
    OK(MPI_Probe(MPI_PROC_NULL, 1, comm, &status));
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, comm, &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Mprobe(MPI_PROC_NULL, 1, comm, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Mrecv(buf, 4096, MPI_BYTE, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK_NOTHING(status);
    forget(&status);
    flag = 0;
    OK(MPI_Improbe(MPI_PROC_NULL, MPI_ANY_TAG, comm, &flag, &message, &status));
    CHECK_EQ(flag, 1);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Imrecv(buf, 4096, MPI_BYTE, &message, &request));
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK(request != MPI_REQUEST_NULL);
    OK(MPI_Wait(&request, &status));
    CHECK_NOTHING(status);
}

static void both_ways(void) {
    MPI_Status status;
    MPI_Request request;
    char other[16];
    int me = rank;
    forget(&status);
    OK(MPI_Sendrecv(buf, 16, MPI_BYTE, MPI_PROC_NULL, 1, other, 16, MPI_BYTE, MPI_PROC_NULL, 1, comm, &status));
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Sendrecv_replace(buf, 16, MPI_BYTE, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm, &status));
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Isendrecv(buf, 16, MPI_BYTE, MPI_PROC_NULL, 1, other, 16, MPI_BYTE, MPI_PROC_NULL, 1, comm, &request));
    OK(MPI_Wait(&request, &status));
    CHECK_NOTHING(status);
    forget(&status);
    OK(MPI_Isendrecv_replace(buf, 16, MPI_BYTE, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm, &request));
    OK(MPI_Wait(&request, &status));
    CHECK_NOTHING(status);
    // One half is real: send to MPI_PROC_NULL, receive from oneself, and the other way round.
    MPI_Isend(&me, 1, MPI_INT, rank, 2, comm, &request);
    int got = -1;
    OK(MPI_Sendrecv(buf, 16, MPI_BYTE, MPI_PROC_NULL, 1, &got, 1, MPI_INT, rank, 2, comm, &status));
    CHECK_EQ(got, rank);
    CHECK_STATUS(status, rank, 2, (int)sizeof(int));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(&got, 1, MPI_INT, rank, 3, comm, &request);
    me = rank + 7;
    forget(&status);
    OK(MPI_Sendrecv(&me, 1, MPI_INT, rank, 3, buf, 16, MPI_BYTE, MPI_PROC_NULL, 1, comm, &status));
    CHECK_NOTHING(status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(got, rank + 7);
}

static void persistent(void) {
    MPI_Request r[5];
    MPI_Status statuses[5];
    OK(MPI_Send_init(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[0]));
    OK(MPI_Ssend_init(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[1]));
    OK(MPI_Rsend_init(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[2]));
    OK(MPI_Bsend_init(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[3]));
    OK(MPI_Recv_init(buf, 4096, MPI_BYTE, MPI_PROC_NULL, 1, comm, &r[4]));
    for (int round = 0; round < 3; round++) {
        OK(MPI_Startall(5, r));
        OK(MPI_Waitall(5, r, statuses));
        CHECK_NOTHING(statuses[4]);
    }
    for (int i = 0; i < 5; i++) OK(MPI_Request_free(&r[i]));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    memset(buf, 0x5a, sizeof buf);
    sends();
    receives();
    probes();
    both_ways();
    persistent();
    CHECK_BYTES(buf, sizeof buf, 0x5a);
    return finish();
}
