// ranks: 1 2 4
// A job that does not go on after failures: it says so, and the functions work where nobody has failed.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int supported = -1, found = 0, *value = NULL, flag = ~(1 << rank), acked = -1, revoked = -1;
    OK(MPIX_Query_ulfm_support(&supported));
    CHECK_EQ(supported, 0);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &value, &found));
    CHECK(found && *value == 0);
    CHECK_EQ(failures(MPI_COMM_WORLD), 0);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acked));
    CHECK_EQ(acked, 0);
    OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    CHECK_EQ(flag, ~((1 << size) - 1));
    MPI_Comm all = shrunk(MPI_COMM_WORLD, size);
    OK(MPIX_Comm_revoke(all));
    OK(MPIX_Comm_is_revoked(all, &revoked));
    CHECK_EQ(revoked, 1);
    FAILS(MPI_Barrier(all), REVOKED);
    OK(MPI_Comm_free(&all));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return finish();
}
