// ranks: 3
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// The survivors start a process in the place of a dead one, twice, and work with it.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm parent, left, children, all;
    int n = 0, one = 1, sum = 0;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        OK(MPI_Intercomm_merge(parent, 1, &all));
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
        CHECK_EQ(sum, 3);
        OK(MPI_Comm_disconnect(&parent));
        OK(MPI_Comm_free(&all));
        return finish();
    }
    meet_at(1);
    if (rank == 1) die();
    left = shrunk(MPI_COMM_WORLD, 2);
    for (int turn = 0; turn < 2; turn++) {
        OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, left, &children, MPI_ERRCODES_IGNORE));
        OK(MPI_Intercomm_merge(children, 0, &all));
        MPI_Comm_size(all, &n);
        CHECK_EQ(n, 3);
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
        CHECK_EQ(sum, 3);
        OK(MPI_Comm_disconnect(&children));
        OK(MPI_Comm_free(&all));
    }
    OK(MPI_Comm_free(&left));
    return finish();
}
