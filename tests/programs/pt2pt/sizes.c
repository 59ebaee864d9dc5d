// ranks: 2
// cflags: -O2
// timeout: 120
// Every message size from 0 to 5000 bytes, and powers of two and their neighbours to 16 MiB, there
// and back, posted before and after the message comes, at an odd address too.
#include "../check.h"

static char *out, *in;

// Rank 0 sends n bytes and rank 1 returns other n bytes; shift moves both buffers off alignment.
static void round_trip(size_t n, int late, int shift) {
    int peer = 1 - rank;
    unsigned seed = (unsigned)n * 2 + late;
    MPI_Request receive;
    MPI_Status status;
    in[shift + n] = 0x5a;
    if (rank == 0) {
        fill(out + shift, n, seed);
        if (!late) MPI_Irecv(in + shift, (int)n, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &receive);
        MPI_Send(out + shift, (int)n, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        if (late)
            MPI_Recv(in + shift, (int)n, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &status);
        else
            MPI_Wait(&receive, &status);
        CHECK_STATUS(status, peer, 7, (long long)n);
        CHECK_PATTERN(in + shift, n, seed + 1);
    } else {
        MPI_Recv(in + shift, (int)n, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, peer, 7, (long long)n);
        CHECK_PATTERN(in + shift, n, seed);
        fill(out + shift, n, seed + 1);
        MPI_Send(out + shift, (int)n, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
    }
    CHECK_EQ(in[shift + n], 0x5a);
}

// Both isend first and then receive: the message is unexpected on both sides.
static void crossing(size_t n) {
    int peer = 1 - rank;
    MPI_Request send;
    MPI_Status status;
    fill(out, n, (unsigned)n + rank);
    memset(in, 0, n);
    MPI_Isend(out, (int)n, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &send);
    MPI_Probe(peer, 8, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, peer, 8, (long long)n);
    MPI_Recv(in, (int)n, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &status);
    CHECK_STATUS(status, peer, 8, (long long)n);
    CHECK_PATTERN(in, n, (unsigned)n + peer);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    size_t most = (16u << 20) + 1;
    out = get_memory(most + 16);
    in = get_memory(most + 16);
    for (size_t n = 0; n <= 5000; n++) {
        round_trip(n, n & 1, 0);
        crossing(n);
    }
    for (size_t power = 1; power <= 16u << 20; power *= 2)
        for (int off = -1; off <= 1; off++) {
            round_trip(power + off, 0, 0);
            round_trip(power + off, 1, 3);
            crossing(power + off);
        }
    free(out);
    free(in);
    return finish();
}
