// ranks: 2 3
// attempts: 3
// A rank that has exchanged many messages with one peer, and waits for the next one for so long that it falls asleep, is
// woken by it at once, be it ever so short.
#include "../check.h"

enum { TURNS = 300, LONG = 4096, PAUSE = 100, TRIES = 4 };

static void exchange(int peer, int bytes) {
    static char out[LONG], in[LONG];
    for (int i = 0; i < TURNS; i++) {
        memset(out, i, (size_t)bytes);
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        }
        if (memcmp(in, out, (size_t)bytes)) CHECK_FAIL("turn %d of %d bytes: wrong bytes", i, bytes);
    }
}

// How long rank 0 waited for a message of one byte that was sent after the pause.
static double wait_for_byte(int peer) {
    double begun = MPI_Wtime();
    char byte = 0;
    if (rank == 0) {
        MPI_Recv(&byte, 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(byte, 'x');
    } else {
        sleep_ms(PAUSE);
        MPI_Send("x", 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
    }
    return MPI_Wtime() - begun;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int last = size - 1, peer = rank == 0 ? last : 0;
    for (int bytes = 1; bytes <= LONG; bytes *= LONG) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0 && rank != last) continue;
        double least = 1e9; // a busy machine may be late once
        for (int i = 0; i < TRIES; i++) {
            exchange(peer, bytes);
            double waited = wait_for_byte(peer);
            if (waited < least) least = waited;
        }
        if (least > PAUSE / 1000.0 + 0.2) CHECK_FAIL("waited %.3f s for a byte that was sent after %d ms", least, PAUSE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
