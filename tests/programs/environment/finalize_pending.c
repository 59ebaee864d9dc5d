// ranks: 1 2 3 8
// no-check: requests are left at the end
// MPI_Finalize completes what is under way: small and large sends whose requests were freed, buffered sends, sends that
// are received only while the sender is already finalizing, persistent requests that were never freed.
#include "../check.h"

enum { LARGE = 2 << 20 };

int main(int argc, char **argv) {
    start(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, small = rank, got = -1;
    char *out = get_memory(LARGE), *buffered = get_memory(LARGE), *in = get_memory(LARGE);
    char *room = get_memory(LARGE + MPI_BSEND_OVERHEAD);
    MPI_Request r, never_freed[2];
    fill(out, LARGE, rank);
    MPI_Isend(&small, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    MPI_Isend(out, LARGE, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    MPI_Buffer_attach(room, LARGE + MPI_BSEND_OVERHEAD);
    fill(buffered, LARGE, rank + 100);
    MPI_Bsend(buffered, LARGE, MPI_BYTE, right, 3, MPI_COMM_WORLD);
    memset(buffered, 0, LARGE);
    MPI_Send_init(&small, 1, MPI_INT, right, 4, MPI_COMM_WORLD, &never_freed[0]);
    MPI_Recv_init(&got, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &never_freed[1]);
    MPI_Startall(2, never_freed);
    MPI_Waitall(2, never_freed, MPI_STATUSES_IGNORE);
    CHECK_EQ(got, left);
    // Odd ranks take their time: their left neighbours are in MPI_Finalize by then.
    if (rank % 2) sleep_ms(200);
    MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(got, left);
    MPI_Recv(in, LARGE, MPI_BYTE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, LARGE, left + 100);
    MPI_Recv(in, LARGE, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, LARGE, left);
    MPI_Finalize();
    free(out);
    free(buffered);
    free(in);
    free(room);
    return 0;
}
