// ranks: 2
// sleeps: the receiver sleeps outside MPI
// timeout: 60
// attempts: 3
// MPI_Cancel of sends that have begun and find no more room on their way: they cannot be cancelled, and
// the wait is local nevertheless, while the receiver makes no MPI call. What was not cancelled arrives
// whole and in order, though the program has changed the buffers since.
#include "../check.h"

enum { MOST = 2000, NUMBERED = 5, LIST = 6, LONG = 7, PAUSE_MS = 1500 };

// With and without gaps between the bytes in memory.
static MPI_Datatype types[2];

static char *strided(int kind, const char *bytes, int n) {
    char *memory = get_memory((size_t)n * 2);
    for (int i = 0; i < n; i++) memory[kind ? i * 2 : i] = bytes[i];
    return memory;
}

// Ends a send that its receiver does not look at; whether it was cancelled. One that the receiver `reads` over a fabric waits for
// it.
static char cancel(MPI_Request *r, char *memory, int n, int reads) {
    MPI_Status status;
    int gone = -1;
    double began = MPI_Wtime();
    OK(MPI_Cancel(r));
    OK(MPI_Wait(r, &status));
    if (!reads) CHECK(MPI_Wtime() - began < PAUSE_MS / 2000.0);
    MPI_Test_cancelled(&status, &gone);
    memset(memory, 0x55, (size_t)n * 2);
    free(memory);
    return gone != 0;
}

// Sends until a message has no room: that one and some behind it are cancelled.
static void flood(int kind, int n) {
    static char gone[MOST];
    MPI_Request requests[8];
    char *memory[8], *bytes = get_memory(n);
    int sent = 0, waiting = 0, flag;
    memset(gone, 0, sizeof gone);
    MPI_Barrier(MPI_COMM_WORLD);
    while (waiting < 8 && sent < MOST) {
        fill(bytes, n, sent);
        memory[waiting] = strided(kind, bytes, n);
        OK(MPI_Isend(memory[waiting], n, types[kind], 1, NUMBERED, MPI_COMM_WORLD, &requests[waiting]));
        sent++;
        MPI_Test(&requests[waiting], &flag, MPI_STATUS_IGNORE);
        if (flag)
            free(memory[waiting]);
        else
            waiting++;
    }
    CHECK_EQ(waiting, 8);
    for (int i = 7; i >= 0; i--) gone[sent - 8 + i] = cancel(&requests[i], memory[i], n, 0);
    CHECK_EQ(gone[sent - 1], 1);
    MPI_Send(gone, sent, MPI_CHAR, 1, LIST, MPI_COMM_WORLD);
    free(bytes);
}

static void take_flood(int n) {
    static char gone[MOST];
    static int numbers[MOST];
    char *in = get_memory(n);
    int came = 0, sent = 0;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    sleep_ms(PAUSE_MS);
    for (;;) {
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == LIST) break;
        MPI_Recv(in, n, MPI_BYTE, 0, NUMBERED, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, 0, NUMBERED, n);
        int number = came ? numbers[came - 1] + 1 : 0;
        while (number < MOST && first_difference(in, n, number) != (size_t)n) number++;
        CHECK(number < MOST);
        numbers[came++] = number;
    }
    MPI_Get_count(&status, MPI_CHAR, &sent);
    MPI_Recv(gone, sent, MPI_CHAR, 0, LIST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0, at = 0; i < sent; i++) {
        if (gone[i]) continue;
        CHECK(at < came);
        CHECK_EQ(numbers[at++], i);
        if (i == sent - 1) CHECK_EQ(at, came);
    }
    free(in);
}

// A long message that is received, by a process which then leaves MPI for a while.
static void begun(int kind, int n) {
    char *bytes = get_memory(n);
    fill(bytes, n, 3);
    if (rank == 0) {
        MPI_Request r;
        int flag = 0, token;
        char *memory = strided(kind, bytes, n);
        OK(MPI_Isend(memory, n, types[kind], 1, LONG, MPI_COMM_WORLD, &r));
        MPI_Recv(&token, 1, MPI_INT, 1, LONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double end = MPI_Wtime() + 0.1;
        while (!flag && MPI_Wtime() < end) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        if (flag)
            free(memory);
        else
            CHECK_EQ(cancel(&r, memory, n, are_read() && !kind), 0);
    } else {
        MPI_Request r;
        MPI_Status status;
        int token = 0;
        memset(bytes, 0, n);
        MPI_Probe(0, LONG, MPI_COMM_WORLD, &status);
        MPI_Irecv(bytes, n, MPI_BYTE, 0, LONG, MPI_COMM_WORLD, &r);
        MPI_Send(&token, 1, MPI_INT, 0, LONG, MPI_COMM_WORLD);
        sleep_ms(PAUSE_MS);
        MPI_Wait(&r, &status);
        CHECK_STATUS(status, 0, LONG, n);
        CHECK_PATTERN(bytes, n, 3);
    }
    free(bytes);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    types[0] = MPI_BYTE;
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &types[1]);
    MPI_Type_commit(&types[1]);
    for (int kind = 0; kind < 2; kind++) {
        for (int n = 8000; n <= 100000; n += 92000) {
            if (rank == 0)
                flood(kind, n);
            else
                take_flood(n);
        }
        begun(kind, 16 << 20);
    }
    MPI_Type_free(&types[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
