// ranks: 2 3
// launch: --with-ft ulfm
// MPIX_Comm_iagree has an order of its own: it is called before other collective operations on one rank and after them on
// the others. Several are pending at a time.
#include "ft.h"

enum { PENDING_VOTES = 5 };

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int flags[PENDING_VOTES], sum = 0, one = 1;
    MPI_Request requests[PENDING_VOTES];
    for (int turn = 0; turn < 50; turn++) {
        if (rank != 0) OK(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < PENDING_VOTES; i++) {
            flags[i] = 1 << i | (rank == 0 ? 0 : 1 << 20);
            OK(MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[i], &requests[i]));
        }
        if (rank == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EQ(sum, size);
        OK(MPI_Waitall(PENDING_VOTES, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < PENDING_VOTES; i++) CHECK_EQ(flags[i], 1 << i);
    }
    return finish();
}
