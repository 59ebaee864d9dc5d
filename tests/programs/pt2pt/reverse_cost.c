// ranks: 2
// timeout: 120
// attempts: 3
// Unexpected messages received in reverse tag order cost about the same each whether 100 or 10,000 wait:
// no search through all of them.
#include "../check.h"

enum { MOST = 10000 };
static int values[MOST];
static MPI_Request requests[MOST];

// Seconds per message for rank 1 to receive n waiting messages in reverse order.
static double per_message(int n) {
    double took = 0;
    if (rank == 0) {
        for (int i = 0; i < n; i++) {
            values[i] = i;
            MPI_Isend(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Send(NULL, 0, MPI_INT, 1, MOST, MPI_COMM_WORLD);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_INT, 1, MOST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, MOST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double began = MPI_Wtime();
        for (int i = n - 1; i >= 0; i--) {
            int got = -1;
            MPI_Recv(&got, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (got != i) CHECK_EQ(got, i);
        }
        took = MPI_Wtime() - began;
        MPI_Send(NULL, 0, MPI_INT, 0, MOST, MPI_COMM_WORLD);
    }
    return took / n;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    double few = 1, many = 1;
    for (int i = 0; i < 50; i++) { // the best of several: the machine has other work too
        double t = per_message(100);
        if (i && t < few) few = t;
    }
    for (int i = 0; i < 10; i++) {
        double t = per_message(MOST);
        if (i && t < many) many = t;
    }
    // Twice as much is the aim; four times is a test that does not fail by chance, while a search
    // through the queue would make it fifty.
    if (rank == 1 && many > 4 * few + 1e-7) CHECK_FAIL("%.0f ns each with 10,000 waiting, %.0f ns with 100", 1e9 * many, 1e9 * few);
    return finish();
}
