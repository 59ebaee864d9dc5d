// ranks: 1 2 3 8 16
// Ranks and size of the world: each rank once, and barriers that no rank leaves before all have
// arrived.
#include "../check.h"

static void everyone_once(void) {
    if (rank == 0) {
        int seen[64] = {1};
        for (int i = 1; i < size; i++) {
            int who = -1;
            MPI_Recv(&who, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(who > 0 && who < size);
            CHECK_EQ(seen[who]++, 0);
        }
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
}

// In each round another rank is late; no rank may leave the barrier before the message of that
// rank.
static void barriers(void) {
    int value = -1;
    for (int late = 0; late < size; late++) {
        MPI_Request r = MPI_REQUEST_NULL;
        int flag = 0;
        if (rank == late) {
            sleep_ms(5);
            for (int p = 0; p < size; p++) {
                if (p == rank) continue;
                MPI_Send(&late, 1, MPI_INT, p, 2, MPI_COMM_WORLD);
            }
        } else {
            MPI_Irecv(&value, 1, MPI_INT, late, 2, MPI_COMM_WORLD, &r);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        // The message was sent before the late one entered, and messages do not take for ever.
        double until = MPI_Wtime() + 10;
        while (!flag && MPI_Wtime() < until) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 1);
        if (rank != late) CHECK_EQ(value, late);
    }
    for (int i = 0; i < 500; i++) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 500; i++) MPI_Barrier(MPI_COMM_SELF);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    CHECK(rank >= 0 && rank < size);
    MPI_Comm parent = MPI_COMM_WORLD;
    OK(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    everyone_once();
    barriers();
    double began = MPI_Wtime();
    if (rank == size - 1) sleep_ms(100);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1 || MPI_Wtime() - began > 0.05) return finish();
    CHECK_FAIL("left the barrier after %.3f s, before the last rank came", MPI_Wtime() - began);
    return 1;
}
