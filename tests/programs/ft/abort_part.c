// ranks: 4
// launch: --with-ft ulfm
// expect-stderr: MPI_Abort with code 3; another rank of its communicator is ended; 2 ranks go on
// one-host: ranks of several hosts are not ended by MPI_Abort of another one alone
// no-valgrind: ranks are killed
// MPI_Abort of a communicator of two ranks ends these two; the others find two failures and go on.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &half));
    meet_at(0);
    if (rank == 0) MPI_Abort(half, 3);
    if (rank == 1) MPI_Barrier(half);
    await_failures(MPI_COMM_WORLD, 2);
    OK(MPI_Barrier(half));
    MPI_Comm left = shrunk(MPI_COMM_WORLD, 2);
    OK(MPI_Comm_free(&left));
    OK(MPI_Comm_free(&half));
    return finish();
}
