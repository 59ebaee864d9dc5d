// ranks: 2 3 5 8
// launch: --pretend-hosts 3
// timeout: 120
// The first messages of all pairs cross each other, so that both sides connect at once: each message
// arrives once, in its order, and the links work on.
#include "../check.h"

enum { ROUNDS = 50, LONG = 300000 };

static void exchange(int round, int count) {
    int *out = get_memory(count * sizeof *out);
    int *in = get_memory((size_t)size * count * sizeof *in);
    MPI_Request *requests = get_memory((size_t)2 * size * sizeof *requests);
    for (int i = 0; i < count; i++) out[i] = round * 1000 + rank;
    for (int peer = 0; peer < size; peer++) {
        OK(MPI_Isend(out, count, MPI_INT, peer, round, MPI_COMM_WORLD, &requests[peer]));
        OK(MPI_Irecv(in + (size_t)peer * count, count, MPI_INT, peer, round, MPI_COMM_WORLD, &requests[size + peer]));
    }
    OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
    for (int peer = 0; peer < size; peer++)
        for (int i = 0; i < count; i++) CHECK_EQ(in[(size_t)peer * count + i], round * 1000 + peer);
    free(out), free(in), free(requests);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    exchange(0, 1);
    exchange(1, LONG);
    for (int round = 2; round < ROUNDS; round++) exchange(round, 1 + round * round);
    return finish();
}
