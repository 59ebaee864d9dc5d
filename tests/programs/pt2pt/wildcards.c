// ranks: 1 2 3 5 8
// MPI_ANY_SOURCE and MPI_ANY_TAG: every message arrives once, the status tells whose it is, each
// sender's own order is kept, and extreme tags work.
#include "../check.h"

enum { EACH = 50 };

static void gather(void) {
    if (rank == 0) {
        int next[64] = {0};
        for (int i = 0; i < (size - 1) * EACH; i++) {
            int value[2] = {-1, -1};
            MPI_Status status;
            MPI_Recv(value, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            int from = status.MPI_SOURCE;
            CHECK(from > 0 && from < size);
            CHECK_EQ(value[0], from);
            CHECK_EQ(value[1], next[from]);
            CHECK_EQ(status.MPI_TAG, 3 * next[from] + from);
            next[from]++;
        }
        for (int r = 1; r < size; r++) CHECK_EQ(next[r], EACH);
        int flag = -1;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0);
    } else {
        for (int i = 0; i < EACH; i++) {
            int value[2] = {rank, i};
            MPI_Send(value, 2, MPI_INT, 0, 3 * i + rank, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Any source but one tag; any tag but one source: what does not match stays.
static void half_wild(void) {
    int peer = (rank + 1) % size, from = (rank + size - 1) % size, a = 100 + rank, b = 200 + rank, got = -1;
    MPI_Request sends[2];
    MPI_Status status;
    MPI_Isend(&a, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(&b, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &sends[1]);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
    CHECK_EQ(got, 200 + from);
    CHECK_STATUS(status, from, 2, (int)sizeof(int));
    MPI_Recv(&got, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK_EQ(got, 100 + from);
    CHECK_STATUS(status, from, 1, (int)sizeof(int));
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void extreme_tags(void) {
    int upper = tag_upper_bound();
    CHECK(upper >= 32767);
    int tags[] = {0, 1, 32767, upper / 2, upper - 1, upper};
    int peer = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request sends[6];
    for (int i = 0; i < 6; i++) MPI_Isend(&tags[i], 1, MPI_INT, peer, tags[i], MPI_COMM_WORLD, &sends[i]);
    for (int i = 5; i >= 0; i--) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, from, tags[i], MPI_COMM_WORLD, &status);
        CHECK_EQ(got, tags[i]);
        CHECK_EQ(status.MPI_TAG, tags[i]);
    }
    MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    gather();
    half_wild();
    extreme_tags();
    return finish();
}
