// ranks: 3
// launch: --with-ft ulfm
// no-check: communicators are left at the end
// A process that ends after MPI_Finalize has not failed: it is in no group of failed ones, agree and shrink do not wait for
// it. A wait that only it could end raises an error.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm all, left;
    int n = 0, flag = 3, value = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
    if (rank == 0) return finish();
    FAILS(MPI_Recv(&value, 1, MPI_INT, 0, 1, all, MPI_STATUS_IGNORE), PROC_FAILED);
    CHECK_EQ(failures(all), 0);
    MPIX_Comm_agree(all, &flag);
    CHECK_EQ(flag, 3);
    OK(MPIX_Comm_shrink(all, &left));
    MPI_Comm_size(left, &n);
    CHECK_EQ(n, size - 1);
    OK(MPI_Barrier(left));
    return finish();
}
