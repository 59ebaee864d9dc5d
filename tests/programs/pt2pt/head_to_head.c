// ranks: 2 4 8
// Both partners send before they receive. Programs should not, but many do: small messages find room.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int peer = rank ^ 1;
    static char out[1024], in[1024];
    for (int round = 0; round < 200; round++)
        for (int n = 0; n <= 1024; n += 256) {
            int burst = 1 + round % 8;
            fill(out, n, rank + round);
            for (int i = 0; i < burst; i++) MPI_Send(out, n, MPI_BYTE, peer, i, MPI_COMM_WORLD);
            for (int i = 0; i < burst; i++) {
                MPI_Recv(in, n, MPI_BYTE, peer, burst - 1 - i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK_PATTERN(in, n, peer + round);
            }
        }
    // Round a ring, and everyone to everyone.
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got = -1;
    MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(got, left);
    for (int p = 0; p < size; p++) MPI_Send(&rank, 1, MPI_INT, p, 2, MPI_COMM_WORLD);
    for (int p = size - 1; p >= 0; p--) {
        MPI_Recv(&got, 1, MPI_INT, p, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(got, p);
    }
    return finish();
}
