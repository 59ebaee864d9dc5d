// ranks: 2 3 4 8
// MPI_Waitsome and MPI_Testsome serve every client whose message has arrived: one receive for each
// client is always in the list, and no client's message waits without end.
#include "../check.h"

enum { EACH = 500 };

static void serve(int by_test) {
    int served[64] = {0}, values[64], indices[64], count = 0;
    MPI_Request requests[64];
    MPI_Status statuses[64];
    for (int r = 1; r < size; r++)
        MPI_Irecv(&values[r - 1], 1, MPI_INT, r, 4, MPI_COMM_WORLD, &requests[r - 1]);
    for (int left = (size - 1) * EACH; left > 0;) {
        if (by_test)
            MPI_Testsome(size - 1, requests, &count, indices, statuses);
        else
            MPI_Waitsome(size - 1, requests, &count, indices, statuses);
        CHECK(count >= !by_test && count <= size - 1);
        for (int i = 0; i < count; i++) {
            int at = indices[i], from = at + 1;
            CHECK(requests[at] == MPI_REQUEST_NULL);
            CHECK_STATUS(statuses[i], from, 4, (int)sizeof(int));
            CHECK_EQ(values[at], served[from]);
            served[from]++;
            left--;
            if (served[from] < EACH) MPI_Irecv(&values[at], 1, MPI_INT, from, 4, MPI_COMM_WORLD, &requests[at]);
        }
    }
    for (int r = 1; r < size; r++) CHECK_EQ(served[r], EACH);
    MPI_Waitsome(size - 1, requests, &count, indices, statuses);
    CHECK_EQ(count, MPI_UNDEFINED);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int by_test = 0; by_test < 2; by_test++) {
        if (rank == 0)
            serve(by_test);
        else
            for (int i = 0; i < EACH; i++) MPI_Send(&i, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
