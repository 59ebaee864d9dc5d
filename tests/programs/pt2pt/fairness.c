// ranks: 3 4 8
// No sender is starved: the receiver takes messages from any source while all others send without
// pause, and continues until it has many messages of each. The operating system decides which ranks
// run, hence the long limits.
#include "../check.h"

enum { EACH = 300, PATIENCE = 30, DATA = 1, STOP = 2 };

// Each of the others keeps one message in flight (synchronous, so that none can run ahead) until it
// gets the message to stop.
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
    int taken[64] = {0}, value = 0, content = 0;
    for (double began = MPI_Wtime(); content < size - 1;) {
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, DATA, MPI_COMM_WORLD, &status);
        CHECK_EQ(value, status.MPI_SOURCE);
        if (++taken[value] == EACH) content++;
        if (MPI_Wtime() - began < PATIENCE) continue;
        for (int r = 1; r < size; r++)
            if (taken[r] < EACH) CHECK_FAIL("rank %d was heard only %d times in %d s", r, taken[r], PATIENCE);
    }
    for (int r = 1; r < size; r++) MPI_Send(&r, 1, MPI_INT, r, STOP, MPI_COMM_WORLD);
    for (int left = size - 1; left > 0;) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (value < 0) left--;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
