// ranks: 1 2 4
// Types with gaps in every way to send and to receive: buffered, synchronous, ready, persistent, probed; the type may already be freed.
#include "layout.h"

enum { BLOCKS = 3000, WORDS = 5 * BLOCKS };
static short a[WORDS], b[WORDS];
static int next, last;

static void prepare(int seed) {
    for (int i = 0; i < WORDS; i++) a[i] = (short)(i + seed + rank), b[i] = -1;
}

// Three of five words have come from the neighbour.
static void check_arrived(int seed) {
    for (int i = 0; i < WORDS; i++) {
        short want = (short)(i % 5 < 3 ? i + seed + last : -1);
        if (b[i] != want) CHECK_FAIL("word %d is %d, not %d", i, b[i], want);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    MPI_Datatype t;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    int bytes = 0, n = -1;
    OK(MPI_Type_vector(BLOCKS, 3, 5, MPI_SHORT, &t));
    OK(MPI_Type_commit(&t));

    OK(MPI_Pack_size(1, t, MPI_COMM_WORLD, &bytes));
    char *buffer = get_memory((size_t)bytes + MPI_BSEND_OVERHEAD);
    OK(MPI_Buffer_attach(buffer, bytes + MPI_BSEND_OVERHEAD));
    prepare(1);
    OK(MPI_Bsend(a, 1, t, next, 1, MPI_COMM_WORLD));
    memset(a, 0, sizeof a);
    OK(MPI_Mprobe(last, 1, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Get_count(&status, t, &n));
    CHECK_EQ(n, 1);
    OK(MPI_Get_elements(&status, t, &n));
    CHECK_EQ(n, 3 * BLOCKS);
    OK(MPI_Mrecv(b, 1, t, &message, &status));
    check_arrived(1);
    OK(MPI_Buffer_detach(&buffer, &bytes));
    free(buffer);

    prepare(2);
    OK(MPI_Irecv(b, 1, t, last, 2, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Issend(a, 1, t, next, 2, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    check_arrived(2);

    prepare(3);
    OK(MPI_Irecv(b, 1, t, last, 3, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Irsend(a, 1, t, next, 3, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    check_arrived(3);

    // Kept requests outlive the handle of their type.
    OK(MPI_Ssend_init(a, 1, t, next, 4, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Recv_init(b, 1, t, last, 4, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Type_free(&t));
    for (int i = 0; i < 3; i++) {
        prepare(4 + i);
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        check_arrived(4 + i);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    return finish();
}
