// ranks: 2
// Sixty thousand communicators at a time.
#include "../check.h"

#define LIVE 60000

int main(int argc, char **argv) {
    static MPI_Comm comms[LIVE];
    start(&argc, &argv);
    return_errors();
    for (int i = 0; i < LIVE; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < LIVE; i += 997) {
        int got = -1, out = 2 * i + rank;
        OK(MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &got, 1, MPI_INT, 1 - rank, 0, comms[i], MPI_STATUS_IGNORE));
        CHECK_EQ(got, 2 * i + 1 - rank);
    }
    for (int i = 0; i < LIVE; i++) OK(MPI_Comm_free(&comms[i]));
    return finish();
}
