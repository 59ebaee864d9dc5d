// ranks: 32
// launch: --pretend-hosts 32
// timeout: 120
// attempts: 2
// More peers than the hard limit of descriptors allows links: links that are not used make room for others, in both directions,
// whoever made them, and no message is lost or overtakes another.
#include "../check.h"
#include <fcntl.h>

enum { ROUNDS = 3, MOST = 32, LONG = 100000, LIMIT = 40 };

static int descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < LIMIT; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

// Everybody sends to everybody, all at once.
static void all_at_once(int round) {
    int in[MOST][2], out[MOST][2];
    MPI_Request requests[4 * MOST];
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < 2; k++) {
            out[i][k] = 1000 * round + 10 * rank + k;
            OK(MPI_Irecv(&in[i][k], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[4 * i + k]));
            OK(MPI_Isend(&out[i][k], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[4 * i + 2 + k]));
        }
    }
    OK(MPI_Waitall(4 * size, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < size; i++)
        for (int k = 0; k < 2; k++)
            CHECK_EQ(in[i][k], 1000 * round + 10 * i + k);
    CHECK(descriptors() < LIMIT);
}

// One sends to all others, which answer nothing: it hears nothing on the links that it made.
static void to_all(int root) {
    static char bytes[LONG];
    for (int i = 0; i < size; i++) {
        if (i == root) continue;
        int length = i % 3 ? 1 : LONG;
        memset(bytes, i, (size_t)length);
        if (rank == root) OK(MPI_Send(bytes, length, MPI_CHAR, i, 2, MPI_COMM_WORLD));
        if (rank != i) continue;
        memset(bytes, 0, sizeof(bytes));
        OK(MPI_Recv(bytes, LONG, MPI_CHAR, root, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(bytes[0] == i && bytes[length - 1] == i);
    }
}

// A pair whose link others push aside in every round.
static void in_turn(int round) {
    for (int distance = 1; distance < size; distance++) {
        int right = (rank + distance) % size, left = (rank + size - distance) % size, got = -1, mine = rank + round;
        OK(MPI_Sendrecv(&mine, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQ(got, left + round);
    }
}

int main(int argc, char **argv) {
    const struct rlimit limit = {LIMIT, LIMIT};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    start(&argc, &argv);
    for (int round = 0; round < ROUNDS; round++) {
        all_at_once(round);
        to_all(round % size);
        to_all(size - 1);
        in_turn(round);
    }
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, size * (size - 1) / 2);
    return finish();
}
