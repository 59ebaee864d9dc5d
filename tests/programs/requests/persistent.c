// ranks: 1 2 3 8
// Persistent requests of every mode, in both count widths: started again and again, alone and with
// MPI_Startall, matched with each other and with plain calls, freed at last.
#include "../check.h"

enum { ROUNDS = 10 };
static int right, left;

static void init_send(int mode, int wide, const void *buf, int n, int tag, MPI_Request *r) {
    MPI_Comm comm = MPI_COMM_WORLD;
    switch (2 * mode + wide) {
    case 0: OK(MPI_Send_init(buf, n, MPI_BYTE, right, tag, comm, r)); break;
    case 1: OK(MPI_Send_init_c(buf, n, MPI_BYTE, right, tag, comm, r)); break;
    case 2: OK(MPI_Bsend_init(buf, n, MPI_BYTE, right, tag, comm, r)); break;
    case 3: OK(MPI_Bsend_init_c(buf, n, MPI_BYTE, right, tag, comm, r)); break;
    case 4: OK(MPI_Ssend_init(buf, n, MPI_BYTE, right, tag, comm, r)); break;
    case 5: OK(MPI_Ssend_init_c(buf, n, MPI_BYTE, right, tag, comm, r)); break;
    case 6: OK(MPI_Rsend_init(buf, n, MPI_BYTE, right, tag, comm, r)); break;
    default: OK(MPI_Rsend_init_c(buf, n, MPI_BYTE, right, tag, comm, r));
    }
    CHECK(*r != MPI_REQUEST_NULL);
}

static void rounds(int mode, int wide, int n) {
    char *out = get_memory(n), *in = get_memory(n);
    MPI_Request send, receive, keep;
    MPI_Status status;
    init_send(mode, wide, out, n, mode, &send);
    if (wide)
        OK(MPI_Recv_init_c(in, n, MPI_BYTE, left, mode, MPI_COMM_WORLD, &receive));
    else
        OK(MPI_Recv_init(in, n, MPI_BYTE, left, mode, MPI_COMM_WORLD, &receive));
    keep = receive;
    for (int round = 0; round < ROUNDS; round++) {
        fill(out, n, 100 * rank + round); // the contents may change between starts
        OK(MPI_Start(&receive));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Start(&send));
        OK(MPI_Wait(&receive, &status));
        CHECK(receive == keep);
        CHECK_STATUS(status, left, mode, n);
        CHECK_PATTERN(in, n, 100 * left + round);
        OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&receive, &status)); // inactive now
        CHECK_EMPTY(status);
    }
    OK(MPI_Request_free(&send));
    OK(MPI_Request_free(&receive));
    CHECK(send == MPI_REQUEST_NULL && receive == MPI_REQUEST_NULL);
    free(out);
    free(in);
}

// Four sends and four receives in one list, one of the sends larger than any eager limit.
static void start_all(void) {
    enum { BIG = 200000 };
    static char out[4][BIG], in[4][BIG];
    static const int n[4] = {0, 8, 3000, BIG};
    MPI_Request r[8];
    MPI_Status statuses[8];
    for (int i = 0; i < 4; i++) {
        MPI_Recv_init(in[i], BIG, MPI_BYTE, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &r[i]);
        MPI_Send_init(out[i], n[i], MPI_BYTE, right, i, MPI_COMM_WORLD, &r[4 + i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++) fill(out[i], n[i], rank + i + round);
        OK(MPI_Startall(8, r));
        OK(MPI_Waitall(8, r, statuses));
        for (int i = 0; i < 4; i++) {
            CHECK_STATUS(statuses[i], left, i, n[i]);
            CHECK_PATTERN(in[i], n[i], left + i + round);
        }
    }
    OK(MPI_Startall(0, NULL));
    for (int i = 0; i < 8; i++) MPI_Request_free(&r[i]);
}

// Persistent on one side only.
static void with_plain_calls(void) {
    int value = -1, got = -1;
    MPI_Request r, plain;
    MPI_Send_init(&value, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &r);
    for (value = 0; value < ROUNDS; value++) {
        MPI_Irecv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &plain);
        MPI_Start(&r);
        MPI_Wait(&plain, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK_EQ(got, value);
    }
    MPI_Request_free(&r);
    MPI_Recv_init(&got, 1, MPI_INT, left, 6, MPI_COMM_WORLD, &r);
    for (value = 0; value < ROUNDS; value++) {
        int flag = 0;
        MPI_Isend(&value, 1, MPI_INT, right, 6, MPI_COMM_WORLD, &plain);
        MPI_Start(&r);
        while (!flag) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        MPI_Wait(&plain, MPI_STATUS_IGNORE);
        CHECK_EQ(got, value);
    }
    MPI_Request_free(&r);
}

// Order holds between started and plain sends.
static void order(void) {
    int a = 1, b = 2, c = 3, got[3];
    MPI_Request r[2], plain;
    MPI_Send_init(&a, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Send_init(&c, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &r[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&r[0]);
        MPI_Isend(&b, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &plain);
        MPI_Start(&r[1]);
        for (int i = 0; i < 3; i++) MPI_Recv(&got[i], 1, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++) CHECK_EQ(got[i], i + 1);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Wait(&plain, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 8, 5000, 200000};
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    int space = ROUNDS * (200000 + MPI_BSEND_OVERHEAD);
    void *buffer = get_memory(space);
    MPI_Buffer_attach(buffer, space);
    for (int mode = 0; mode < 4; mode++)
        for (int wide = 0; wide < 2; wide++)
            for (int i = 0; i < 4; i++) rounds(mode, wide, sizes[i]);
    start_all();
    with_plain_calls();
    order();
    MPI_Buffer_detach(&buffer, &space);
    free(buffer);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
