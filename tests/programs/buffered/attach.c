// ranks: 1 2 3 8
// attempts: 3
// Buffered sends through the process's attached buffer: they return without a receiver, the data may be
// overwritten at once, room comes back when messages have gone, and detach waits for them.
#include "../check.h"

static int right, left;

// Exactly the room that the standard promises to suffice, again and again.
static void exact(int n) {
    int space = n + MPI_BSEND_OVERHEAD, got_size = -1;
    char *buffer = get_memory(space), *out = get_memory(n), *in = get_memory(n), *got = NULL;
    OK(MPI_Buffer_attach(buffer, space));
    for (int i = 0; i < 20; i++) {
        fill(out, n, rank + i);
        OK(MPI_Bsend(out, n, MPI_BYTE, right, 1, MPI_COMM_WORLD));
        memset(out, 0, n);
        MPI_Recv(in, n, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, n, left + i);
        OK(MPI_Buffer_detach(&got, &got_size)); // waits until it has gone
        CHECK(got == buffer);
        CHECK_EQ(got_size, space);
        OK(MPI_Buffer_attach(got, got_size));
    }
    OK(MPI_Buffer_detach(&got, &got_size));
    free(buffer);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Room for ten, ten sent before anyone receives: they arrive in order.
static void several(int n) {
    enum { N = 10 };
    int space = N * (n + MPI_BSEND_OVERHEAD);
    char *buffer = get_memory(space), *out = get_memory(n), *in = get_memory(n);
    OK(MPI_Buffer_attach(buffer, space));
    for (int i = 0; i < N; i++) {
        fill(out, n, 10 * rank + i);
        if (i % 2) {
            MPI_Request r;
            OK(MPI_Ibsend(out, n, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r));
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE)); // local: no receive is posted yet
        } else {
            OK(MPI_Bsend(out, n, MPI_BYTE, right, 2, MPI_COMM_WORLD));
        }
        memset(out, 0, n);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        MPI_Recv(in, n, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, n, 10 * left + i);
    }
    OK(MPI_Buffer_detach(&buffer, &space));
    free(buffer);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

// The buffer is used round and round: many more messages than it can hold at a time.
static void circular(void) {
    enum { N = 300, ROOM = 3000 };
    int space = 4 * (ROOM + MPI_BSEND_OVERHEAD);
    char *buffer = get_memory(space), out[ROOM], in[ROOM];
    OK(MPI_Buffer_attach(buffer, space));
    for (int i = 0; i < N; i++) {
        int n = i * 37 % ROOM, m;
        fill(out, n, rank + i);
        OK(MPI_Bsend(out, n, MPI_BYTE, right, 3, MPI_COMM_WORLD));
        if (i % 3 != 2) continue; // three under way at most
        for (int k = i - 2; k <= i; k++) {
            m = k * 37 % ROOM;
            MPI_Recv(in, ROOM, MPI_BYTE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_PATTERN(in, m, left + k);
        }
        MPI_Barrier(MPI_COMM_WORLD); // mine have been received too
    }
    OK(MPI_Buffer_detach(&buffer, &space));
    free(buffer);
}

// Detach does not return before the message has been received.
static void detach_waits(void) {
    enum { BIG = 1 << 20 };
    if (rank > 1 || size < 2) return;
    if (rank == 0) {
        int space = BIG + MPI_BSEND_OVERHEAD, token;
        char *buffer = get_memory(space), *out = get_memory(BIG);
        fill(out, BIG, 9);
        MPI_Buffer_attach(buffer, space);
        MPI_Recv(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double began = MPI_Wtime();
        OK(MPI_Bsend(out, BIG, MPI_BYTE, 1, 4, MPI_COMM_WORLD));
        CHECK(MPI_Wtime() - began < 0.2); // local
        OK(MPI_Buffer_detach(&buffer, &space));
        CHECK(MPI_Wtime() - began > 0.25);
        memset(buffer, 0, space);
        free(buffer);
        free(out);
    } else {
        char *in = get_memory(BIG);
        int token = 0;
        MPI_Send(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        sleep_ms(300);
        MPI_Recv(in, BIG, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, BIG, 9);
        free(in);
    }
}

// Large-count forms, and a size of zero.
static void widths(void) {
    char room[2000], *got = NULL;
    MPI_Count c = -1;
    int n = -1;
    OK(MPI_Buffer_attach_c(room, 2000));
#ifdef MPI_BUFFER_AUTOMATIC
    OK(MPI_Buffer_detach_c(&got, &c));
    CHECK(got == room);
    CHECK_EQ(c, 2000);
    OK(MPI_Buffer_attach_c(room, 2000));
#endif
    (void)c;
    OK(MPI_Buffer_detach(&got, &n));
    CHECK(got == room);
    CHECK_EQ(n, 2000);
    OK(MPI_Buffer_attach(room, 0));
    OK(MPI_Buffer_detach(&got, &n));
    CHECK(got == room);
    CHECK_EQ(n, 0);
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 1, 40, 1000, 10000, 200000};
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int i = 0; i < 6; i++) {
        exact(sizes[i]);
        several(sizes[i]);
    }
    circular();
    detach_waits();
    widths();
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
