// ranks: 4 7
// launch: --with-ft ulfm
// expect-stderr: MPI_Abort with code 3; another rank of its communicator is ended
// no-valgrind: ranks are killed
// MPI_Abort of a communicator of the first rank and the last one ends these two, also where they are on different hosts; the others
// find two failures and go on.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int last = size - 1;
    MPI_Comm part;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == last, rank, &part));
    meet_at(0);
    if (rank == 0) MPI_Abort(part, 3);
    if (rank == last) MPI_Barrier(part);
    await_failures(MPI_COMM_WORLD, 2);
    OK(MPI_Barrier(part));
    MPI_Comm left = shrunk(MPI_COMM_WORLD, size - 2);
    OK(MPI_Comm_free(&left));
    OK(MPI_Comm_free(&part));
    return finish();
}
