// ranks: 1 2 4
// Flushing: a flush returns, and a nonblocking flush completes, once what was in the buffer has gone and
// not before; the buffer stays attached and has its room again.
#include "../check.h"

enum { N = 1000000 }; // more than any link sends without asking the receiver
static int right, left;

typedef enum { PROCESS, COMM, KINDS } Level;

static void attach(Level level, void *buffer, int n) {
    if (level == PROCESS)
        OK(MPI_Buffer_attach(buffer, n));
    else
        OK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, buffer, n));
}

static void flush(Level level) {
    if (level == PROCESS)
        OK(MPI_Buffer_flush());
    else
        OK(MPI_Comm_flush_buffer(MPI_COMM_WORLD));
}

static void iflush(Level level, MPI_Request *r) {
    if (level == PROCESS)
        OK(MPI_Buffer_iflush(r));
    else
        OK(MPI_Comm_iflush_buffer(MPI_COMM_WORLD, r));
    CHECK(*r != MPI_REQUEST_NULL);
}

static void rounds(Level level, int automatic) {
    char *out = get_memory(N), *in = get_memory(N), *buffer = get_memory(N + MPI_BSEND_OVERHEAD);
    void *got = NULL;
    int flag = -1, n = -1;
    MPI_Request r;
    attach(level, automatic ? MPI_BUFFER_AUTOMATIC : buffer, N + MPI_BSEND_OVERHEAD);
    flush(level); // nothing in it
    iflush(level, &r);
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    for (int round = 0; round < 10; round++) {
        fill(out, N, rank + round);
        OK(MPI_Bsend(out, N, MPI_BYTE, right, 1, MPI_COMM_WORLD)); // fits only if the last one has gone
        memset(out, 0, N);
        iflush(level, &r);
        for (int i = 0; i < 5; i++) {
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            CHECK_EQ(flag, 0); // large and not received yet: it is still in the buffer
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(in, N, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, N, left + round);
        if (round % 2) {
            flush(level);
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            CHECK_EQ(flag, 1);
        } else {
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        CHECK(r == MPI_REQUEST_NULL);
    }
    OK(level == PROCESS ? MPI_Buffer_detach(&got, &n) : MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, &n));
    CHECK(got == (automatic ? MPI_BUFFER_AUTOMATIC : buffer));
    free(out);
    free(in);
    free(buffer);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (Level level = 0; level < KINDS; level++)
        for (int automatic = 0; automatic < 2; automatic++) rounds(level, automatic);
    return finish();
}
