// ranks: 2 4
// args: 0
// args: 16
// args: 300000
// A partition can be seen to arrive while others have not been marked; a receive that was started
// before the send was made progresses while its process waits elsewhere, and long partitions
// arrive.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int count = argc > 1 ? atoi(argv[1]) : 16, flag;
    char *data = malloc(6 * (size_t)count);
    MPI_Request r;
    if (rank == 0) {
        fill(data, 6 * (size_t)count, 1);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Psend_init(data, 6, count, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
        OK(MPI_Start(&r));
        OK(MPI_Pready_range(0, 5, r));
        // The receiver is in the barrier.
        OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        fill(data, 6 * (size_t)count, 2);
        OK(MPI_Start(&r));
        OK(MPI_Pready(3, r));
        OK(MPI_Pready(4, r));
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        int rest[] = {5, 0, 2, 1};
        OK(MPI_Pready_list(4, rest, r));
        OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&r));
    } else if (rank == 1) {
        OK(MPI_Precv_init(data, 3, 2 * count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
        OK(MPI_Start(&r));
        OK(MPI_Parrived(r, 1, &flag));
        CHECK(!flag);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        CHECK_PATTERN(data, 6 * (size_t)count, 1);
        OK(MPI_Start(&r));
        // Partitions of the sender's are halves of ours: 3 and 4 are not all of any.
        for (int i = 0; i < 100; i++)
            for (int p = 0; p < 3; p++) {
                OK(MPI_Parrived(r, p, &flag));
                CHECK(!flag);
            }
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
        for (flag = 0; !flag;) OK(MPI_Parrived(r, 2, &flag));
        for (flag = 0; !flag;) OK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
        CHECK_PATTERN(data, 6 * (size_t)count, 2);
        OK(MPI_Request_free(&r));

    } else {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    // One of several ready ones, with as many on both sides.
    if (rank == 0) {
        OK(MPI_Psend_init(data, 6, count, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
        OK(MPI_Start(&r));
        OK(MPI_Pready(4, r));
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Pready_range(0, 3, r));
        OK(MPI_Pready(5, r));
        OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        OK(MPI_Request_free(&r));
    } else if (rank == 1) {
        memset(data, 0, 6 * (size_t)count);
        OK(MPI_Precv_init(data, 6, count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
        OK(MPI_Start(&r));
        for (flag = 0; !flag;) OK(MPI_Parrived(r, 4, &flag));
        OK(MPI_Parrived(r, 5, &flag));
        CHECK(!flag);
        OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
        OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        CHECK_PATTERN(data, 6 * (size_t)count, 2);
        OK(MPI_Request_free(&r));
    }
    free(data);
    return finish();
}
