// ranks: 2 4 7
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// Calls that are wrong, or that look so: the right class and text at all ranks, and nobody waits for ever. tests/golden has those
// of one rank alone.
#include "ft.h"

static int dead;

// Acknowledging more than has failed is right, and acknowledges what has. Fewer than before takes nothing back.
static void acknowledge(void) {
    int acked = -1;
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acked));
    CHECK_EQ(acked, 0);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size + 1000, &acked));
    CHECK_EQ(acked, 1);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acked));
    CHECK_EQ(acked, 1);
    CHECK_ERROR(MPIX_Comm_ack_failed(MPI_COMM_WORLD, -3, &acked), MPI_ERR_ARG, "num_to_ack is -3, which is negative");
}

// Some agree and others shrink.
static void mix(MPI_Comm comm, int own) {
    MPI_Comm made = MPI_COMM_NULL;
    int flag = 1, code = own == 0 ? MPIX_Comm_shrink(comm, &made) : MPIX_Comm_agree(comm, &flag);
    CHECK_ERROR(code, MPI_ERR_OTHER, "some members called MPIX_Comm_agree and others MPIX_Comm_shrink");
    if (own == 0) CHECK(made == MPI_COMM_NULL);
    OK(MPIX_Comm_agree(comm, &flag));
}

// The second time says nothing. What is local and what repairs works.
static void revoke_twice(MPI_Comm comm, int own) {
    MPI_Comm copy, left;
    int flag = 0, n = 0;
    OK(MPI_Comm_dup(comm, &copy));
    meet(comm);
    for (int turn = 0; turn < 2; turn++) {
        if (own == 0) {
            OK(MPIX_Comm_revoke(copy));
            OK(MPIX_Comm_revoke(copy));
        }
        meet(comm);
        OK(MPIX_Comm_is_revoked(copy, &flag));
        CHECK_EQ(flag, 1);
        FAILS(MPI_Barrier(copy), REVOKED);
        FAILS(MPI_Send(&own, 1, MPI_INT, MPI_PROC_NULL, 0, copy), REVOKED);
        OK(MPIX_Comm_is_revoked(comm, &flag));
        CHECK_EQ(flag, 0);
    }
    OK(MPIX_Comm_shrink(copy, &left));
    MPI_Comm_size(left, &n);
    CHECK_EQ(n, size - 1);
    OK(MPI_Comm_free(&left));
    OK(MPI_Comm_free(&copy));
}

// The flag comes from the other group; both groups shrink.
static void between_groups(MPI_Comm comm, int own) {
    MPI_Comm half, inter, left;
    int flag = own % 2 ? 5 : 6, n = 0, acked = -1;
    OK(MPI_Comm_split(comm, own % 2, own, &half));
    OK(MPI_Intercomm_create(half, 0, comm, 1 - own % 2, 3, &inter));
    OK(MPIX_Comm_agree(inter, &flag));
    CHECK_EQ(flag, own % 2 ? 6 : 5);
    OK(MPIX_Comm_ack_failed(inter, 99, &acked));
    CHECK_EQ(acked, 0);
    CHECK_EQ(failures(inter), 0);
    meet(comm);
    if (own == 0) OK(MPIX_Comm_revoke(inter));
    meet(comm);
    FAILS(MPI_Barrier(inter), REVOKED);
    OK(MPIX_Comm_shrink(inter, &left));
    MPI_Comm_remote_size(left, &n);
    CHECK_EQ(n, own % 2 ? (size - 1 + 1) / 2 : (size - 1) / 2);
    OK(MPI_Comm_free(&left));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int own, flag = 1;
    dead = size - 1;
    meet_at(dead);
    if (rank == dead) die();
    await_failures(MPI_COMM_WORLD, 1);
    acknowledge();
    MPI_Comm comm = shrunk(MPI_COMM_WORLD, size - 1), freed = comm;
    MPI_Comm_rank(comm, &own);
    if (size > 2) {
        mix(comm, own);
        between_groups(comm, own);
    }
    revoke_twice(comm, own);
    OK(MPI_Comm_free(&comm));
    CHECK_ERROR(MPIX_Comm_agree(freed, &flag), MPI_ERR_COMM, "MPIX_Comm_agree: the communicator");
    CHECK_ERROR(MPIX_Comm_revoke(freed), MPI_ERR_COMM, "has been freed");
    CHECK_ERROR(MPIX_Comm_shrink(MPI_COMM_NULL, &freed), MPI_ERR_COMM, "MPIX_Comm_shrink: the communicator is MPI_COMM_NULL");
    return finish();
}
