// ranks: 2 4 7
// launch: --with-ft ulfm
// One rank revokes a communicator: members that are blocked in it get out, later calls fail, also with MPI_PROC_NULL, and
// other communicators work. Nobody dies.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm all, split = (MPI_Comm)MPI_COMM_NULL, left;
    int in = 0, flag = -1, revoked = -1;
    MPI_Request request = MPI_REQUEST_NULL, inactive;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
    OK(MPIX_Comm_is_revoked(all, &revoked));
    CHECK_EQ(revoked, 0);
    OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_PROC_NULL, 7, all, &inactive));
    OK(MPI_Barrier(all));
    if (rank == 0) {
        sleep_ms(150);
        OK(MPIX_Comm_revoke(all));
        OK(MPIX_Comm_revoke(all));
    } else if (rank % 3 == 1) {
        FAILS(MPI_Recv(&in, 1, MPI_INT, 0, 1, all, MPI_STATUS_IGNORE), REVOKED);
    } else if (rank % 3 == 2) {
        OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, all, &request));
        FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), REVOKED);
        CHECK(request == MPI_REQUEST_NULL);
    } else {
        FAILS(MPI_Barrier(all), REVOKED);
    }
    OK(MPIX_Comm_is_revoked(all, &revoked));
    CHECK_EQ(revoked, 1);
    FAILS(MPI_Send(&in, 1, MPI_INT, rank, 1, all), REVOKED);
    FAILS(MPI_Isend(&in, 1, MPI_INT, rank, 1, all, &request), REVOKED);
    FAILS(MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, all, MPI_STATUS_IGNORE), REVOKED);
    FAILS(MPI_Iprobe(MPI_ANY_SOURCE, 1, all, &flag, MPI_STATUS_IGNORE), REVOKED);
    FAILS(MPI_Start(&inactive), REVOKED);
    FAILS(MPI_Barrier(all), REVOKED);
    FAILS(MPI_Comm_split(all, 0, rank, &split), REVOKED);
    CHECK(split == MPI_COMM_NULL);
    OK(MPI_Request_free(&inactive));
    // What is local goes on.
    int own = -1, failed = failures(all);
    OK(MPI_Comm_rank(all, &own));
    CHECK(own == rank && failed == 0);
    // agree and shrink work; shrink is not revoked.
    flag = 1 | (rank == 0 ? 2 : 0);
    OK(MPIX_Comm_agree(all, &flag));
    CHECK_EQ(flag, size > 1 ? 1 : 3);
    left = shrunk(all, size);
    OK(MPIX_Comm_is_revoked(left, &revoked));
    CHECK_EQ(revoked, 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Comm_free(&left));
    OK(MPI_Comm_free(&all));
    // Numbers of freed communicators come back; a new one is not revoked.
    for (int i = 0; i < 20; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &all));
        OK(MPIX_Comm_is_revoked(all, &revoked));
        CHECK_EQ(revoked, 0);
        OK(MPI_Barrier(all));
        OK(MPI_Comm_free(&all));
    }
    return finish();
}
