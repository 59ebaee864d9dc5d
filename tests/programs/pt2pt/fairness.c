// ranks: 3 4 8
// No sender is starved: the receiver takes messages from anyone while all others send without
// pause, and every sender gets through well before any other has had a hundred times its share.
#include "../check.h"

enum { TOTAL = 20000, DATA = 1, STOP = 2 };

// The others keep one message under way each (synchronous, so that none can run ahead) until told to stop.
static void sender(void) {
    int value = rank, stop = -1, done = 0;
    MPI_Request stopped;
    MPI_Irecv(&stop, 1, MPI_INT, 0, STOP, MPI_COMM_WORLD, &stopped);
    while (!done) {
        MPI_Ssend(&value, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
        MPI_Test(&stopped, &done, MPI_STATUS_IGNORE);
    }
    value = -rank;
    MPI_Send(&value, 1, MPI_INT, 0, DATA, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (rank != 0) {
        sender();
        MPI_Barrier(MPI_COMM_WORLD);
        return finish();
    }
    int taken[64] = {0}, value = 0;
    for (int i = 0; i < TOTAL; i++) {
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, DATA, MPI_COMM_WORLD, &status);
        CHECK_EQ(value, status.MPI_SOURCE);
        taken[status.MPI_SOURCE]++;
    }
    for (int r = 1; r < size; r++) CHECK(taken[r] >= TOTAL / (size - 1) / 100);
    for (int r = 1; r < size; r++) MPI_Send(&r, 1, MPI_INT, r, STOP, MPI_COMM_WORLD);
    for (int left = size - 1; left > 0;) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (value < 0) left--;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
