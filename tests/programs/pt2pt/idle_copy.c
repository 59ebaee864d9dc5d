// ranks: 2 4
// sleeps: a rank sleeps outside MPI while the others wait
// attempts: 3
// Large messages that one side has begun with, and then it computes: the other finishes the copy by itself, so a send
// ends, and what cannot end yet is waited for without using CPU time. On another host nobody can take the bytes for a
// process that computes.
#include "../check.h"

enum { BIG = 8 << 20, PAUSE_MS = 700 };

typedef enum { SEND, ISEND, RECV, SECOND, WAYS } Way;

static char *big, *other;
// Ranks 0 and 1 are on one host.
static int is_near;

// The rank that waits. Returns whether the bytes, which could go at once, have waited for the other side.
static int waits(Way way) {
    MPI_Request requests[2];
    int value = 0, answer = 0;
    double cpu = cpu_seconds(), wall = MPI_Wtime();
    switch (way) {
    case SEND: MPI_Send(big, BIG, MPI_BYTE, 1, way, MPI_COMM_WORLD); break;
    case ISEND:
        MPI_Isend(big, BIG, MPI_BYTE, 1, way, MPI_COMM_WORLD, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        break;
    case RECV:
        MPI_Recv(other, BIG, MPI_BYTE, 1, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(other, BIG, way);
        break;
    default:
        // A second message, which is not taken before the other side is back.
        MPI_Isend(big, BIG, MPI_BYTE, 1, way, MPI_COMM_WORLD, requests);
        MPI_Isend(&value, 1, MPI_INT, 1, way, MPI_COMM_WORLD, requests + 1);
        MPI_Recv(&answer, 1, MPI_INT, 1, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(answer, 42);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    cpu = cpu_seconds() - cpu;
    wall = MPI_Wtime() - wall;
    if (cpu > 0.15) CHECK_FAIL("way %d used %.3f s of CPU in %.1f s of waiting", way, cpu, wall);
    return is_near && way != SECOND && wall > PAUSE_MS * 0.8e-3;
}

// The rank that begins and goes away.
static void goes_away(Way way) {
    MPI_Request request;
    MPI_Status status;
    int flag = 0, value = 42;
    memset(other, 0, BIG);
    if (way == RECV)
        MPI_Isend(big, BIG, MPI_BYTE, 0, way, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(other, BIG, MPI_BYTE, 0, way, MPI_COMM_WORLD, &request);
    sleep_ms(150);
    MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); // handles packets that have arrived
    sleep_ms(PAUSE_MS);
    if (way == SECOND) MPI_Send(&value, 1, MPI_INT, 0, way, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    if (way == RECV) return;
    CHECK_STATUS(status, 0, way, BIG);
    CHECK_PATTERN(other, BIG, way);
    if (way == SECOND) MPI_Recv(&value, 1, MPI_INT, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Many sends that are over before their receiver knows, again and again.
static void many(void) {
    enum { COUNT = 40, LENGTH = 200000 };
    MPI_Request requests[COUNT];
    for (int round = 0; round < 20; round++) {
        fill(big, BIG, round);
        for (int i = 0; i < COUNT; i++) {
            if (rank == 0)
                MPI_Isend(big + i, LENGTH, MPI_BYTE, 1, i, MPI_COMM_WORLD, requests + i);
            else
                MPI_Irecv(other + i * LENGTH, LENGTH, MPI_BYTE, 0, i, MPI_COMM_WORLD, requests + i);
        }
        MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < COUNT && rank == 1; i++) CHECK(!memcmp(big + i, other + i * LENGTH, LENGTH));
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    is_near = on_one_host(0, 1);
    big = get_memory(BIG);
    other = get_memory(BIG);
    for (Way way = 0; way < WAYS; way++) {
        fill(big, BIG, way);
        fill(other, BIG, way + 1);
        // On a busy machine one side may begin when the other has gone away already.
        for (int try = 0, waited = 1; waited; try++) {
            if (try == 3) CHECK_FAIL("way %d waits for the other side", way);
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) waited = waits(way);
            if (rank == 1) goes_away(way);
            MPI_Bcast(&waited, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    if (rank < 2) many();
    free(big);
    free(other);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
