// ranks: 1 2 3 5 8
// MPI_Sendrecv and MPI_Sendrecv_replace round a ring: never a deadlock, any size, different counts,
// tags and types of the two halves, wildcards, and matched with plain sends and receives.
#include "../check.h"

static int right, left;
static const int sizes[] = {0, 1, 40, 41, 1000, 9000, 65536, 1000000};
enum { KINDS = sizeof sizes / sizeof *sizes };

static void shift(int n, int wide, int wild) {
    char *out = get_memory(n), *in = get_memory(n + 9);
    MPI_Status status;
    int source = wild ? MPI_ANY_SOURCE : left, tag = wild ? MPI_ANY_TAG : 6;
    fill(out, n, rank);
    memset(in, 0x5a, n + 9);
    if (wide)
        OK(MPI_Sendrecv_c(out, n, MPI_BYTE, right, 6, in, n + 9, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
    else
        OK(MPI_Sendrecv(out, n, MPI_BYTE, right, 6, in, n + 9, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
    CHECK_STATUS(status, left, 6, n);
    CHECK_PATTERN(in, n, left);
    CHECK_BYTES(in + n, 9, 0x5a);
    CHECK_PATTERN(out, n, rank);
    free(out);
    free(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void replace(int n, int wide) {
    char *buf = get_memory(n + 1);
    MPI_Status status;
    fill(buf, n, rank);
    buf[n] = 0x5a;
    for (int step = 1; step <= size; step++) { // all the way round: my own data comes back
        if (wide)
            OK(MPI_Sendrecv_replace_c(buf, n, MPI_BYTE, right, step, left, step, MPI_COMM_WORLD, &status));
        else
            OK(MPI_Sendrecv_replace(buf, n, MPI_BYTE, right, step, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(status, left, step, n);
        CHECK_PATTERN(buf, n, (rank + size - step) % size);
    }
    CHECK_PATTERN(buf, n, rank);
    CHECK_EQ(buf[n], 0x5a);
    free(buf);
}

// The halves differ: 3 doubles go one way, up to 10 ints the other.
static void unlike_halves(void) {
    int ahead = rank % 2 == 0, peer = rank ^ 1, ints[10] = {0}, count = -1;
    double doubles[3] = {0};
    MPI_Status status;
    if (peer >= size) return;
    if (ahead) {
        doubles[0] = 1.5, doubles[2] = -rank;
        MPI_Sendrecv(doubles, 3, MPI_DOUBLE, peer, 1, ints, 10, MPI_INT, peer, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQ(count, 5);
        CHECK_EQ(ints[4], 40 + peer);
        CHECK_EQ(ints[5], 0);
    } else {
        for (int i = 0; i < 5; i++) ints[i] = 10 * i + rank;
        MPI_Sendrecv(ints, 5, MPI_INT, peer, 2, doubles, 3, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        CHECK_EQ(count, 3);
        CHECK(doubles[0] == 1.5 && doubles[2] == -peer);
    }
}

// One side uses plain calls: send-receive is an ordinary send and an ordinary receive.
static void with_plain_calls(int n) {
    int peer = rank ^ 1;
    if (peer >= size) return;
    char *out = get_memory(n), *in = get_memory(n);
    fill(out, n, rank);
    if (rank & 1) {
        MPI_Recv(in, n, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, n, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
    } else {
        MPI_Sendrecv(out, n, MPI_BYTE, peer, 3, in, n, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK_PATTERN(in, n, peer);
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int i = 0; i < KINDS; i++) {
        for (int way = 0; way < 4; way++) shift(sizes[i], way & 1, way >> 1);
        replace(sizes[i], 0);
        MPI_Barrier(MPI_COMM_WORLD);
        replace(sizes[i], 1);
        MPI_Barrier(MPI_COMM_WORLD);
        with_plain_calls(sizes[i]);
    }
    unlike_halves();
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
