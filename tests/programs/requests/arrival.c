// ranks: 1 2 3 8
// Several receives are posted for MPI_ANY_SOURCE: MPI_Testany and MPI_Waitany return the messages
// of each sender in the order sent, also when many have arrived at once.
#include "../check.h"

enum { OPEN = 4, EACH = 60 };

static int values[OPEN];
static MPI_Request open_ones[OPEN];

static void post(int i) {
    MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &open_ones[i]);
}

static void collect(int waits) {
    int next[64] = {0}, left = size * EACH;
    for (int i = 0; i < OPEN; i++) post(i);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < EACH; i++) MPI_Send(&i, 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
    while (left > 0) {
        int index = -1, done = 1;
        MPI_Status status;
        // Some time for several to come, now and then.
        if (left % 16 == 0) sleep_ms(1);
        if (waits) {
            MPI_Waitany(OPEN, open_ones, &index, &status);
        } else {
            MPI_Testany(OPEN, open_ones, &index, &done, &status);
        }
        if (!done) continue;
        CHECK_EQ(values[index], next[status.MPI_SOURCE]);
        CHECK_EQ(status.MPI_TAG, values[index] % 3);
        next[status.MPI_SOURCE]++;
        left--;
        post(index);
    }
    for (int i = 0; i < OPEN; i++) {
        MPI_Cancel(&open_ones[i]);
        MPI_Wait(&open_ones[i], MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int waits = 0; waits < 2; waits++) {
        if (rank == 0) {
            collect(waits);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            for (int i = 0; i < EACH; i++) MPI_Send(&i, 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
