// ranks: 2 3
// Requests with one tag match in the order in which they were made, whatever order they are started and marked in, and nothing
// but each other: neither usual messages with that tag nor those on another communicator.
#include "../check.h"

enum { MANY = 6 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    int data[MANY][4], other[4] = {0}, usual[2] = {0, 0}, flag;
    MPI_Request r[MANY], again;
    MPI_Comm twin;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    if (rank == 0) {
        for (int i = 0; i < MANY; i++) {
            for (int k = 0; k < 4; k++) data[i][k] = 100 * i + k;
            OK(MPI_Psend_init(data[i], 4, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]));
        }
        OK(MPI_Psend_init(other, 2, 2, MPI_INT, 1, 3, twin, MPI_INFO_NULL, &again));
        other[3] = 77;
        usual[0] = 5;
        OK(MPI_Start(&again));
        OK(MPI_Pready_range(0, 1, again));
        for (int i = MANY - 1; i >= 0; i--) {
            OK(MPI_Start(&r[i]));
            for (int k = 3; k >= 0; k--) OK(MPI_Pready(k, r[i]));
            OK(MPI_Send(usual, 1, MPI_INT, 1, 3, MPI_COMM_WORLD));
        }
        OK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE));
        OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
        MPI_Status status;
        for (int i = 0; i < MANY; i++) {
            memset(data[i], 0xff, sizeof data[i]);
            OK(MPI_Precv_init(data[i], 2, 2, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]));
        }
        OK(MPI_Precv_init(other, 4, 1, MPI_INT, 0, 3, twin, MPI_INFO_NULL, &again));
        OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_EQ(status.MPI_TAG, 3);
        for (int i = 0; i < MANY; i++) {
            OK(MPI_Recv(&usual[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(usual[1], 5);
        }
        OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Startall(MANY, r));
        OK(MPI_Start(&again));
        OK(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE));
        OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
        CHECK_EQ(other[3], 77);
        for (int i = 0; i < MANY; i++)
            for (int k = 0; k < 4; k++) CHECK_EQ(data[i][k], 100 * i + k);
    }
    if (rank < 2) {
        for (int i = 0; i < MANY; i++) OK(MPI_Request_free(&r[i]));
        OK(MPI_Request_free(&again));
    }
    // A receive that nothing was sent for can be given up.
    if (rank == 1) {
        OK(MPI_Precv_init(data[0], 2, 2, MPI_INT, 0, 4, twin, MPI_INFO_NULL, &again));
        OK(MPI_Request_free(&again));
    }
    OK(MPI_Comm_free(&twin));
    return finish();
}
