// ranks: 5
// no-check: leaves groups of those who have failed
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// The groups of failed and acknowledged processes: their order, their bounds, and wrong use.
#include "ft.h"

// The ranks in the world of the members of a group.
static int members(MPI_Group group, int *ranks) {
    MPI_Group world;
    int n, from[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &n);
    MPI_Group_translate_ranks(group, n, from, world, ranks);
    MPI_Group_free(&world);
    return n;
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Group group, later;
    MPI_Comm inter, part;
    int acked = -1, first[8], second[8], turn = 0;
    OK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    OK(MPI_Group_free(&group));
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acked));
    CHECK_EQ(acked, 0);
    CHECK_ERROR(MPIX_Comm_ack_failed(MPI_COMM_WORLD, -1, &acked), MPI_ERR_ARG, "MPIX_Comm_ack_failed");
    CHECK_CLASS(MPIX_Comm_get_failed(MPI_COMM_NULL, &group), MPI_ERR_COMM);
    CHECK_CLASS(MPIX_Comm_revoke(MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPIX_Comm_agree(MPI_COMM_NULL, &acked), MPI_ERR_COMM);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part));
    OK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter));
    meet_at(3);
    if (rank == 3) die();
    await_failures(MPI_COMM_WORLD, 1);
    OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &group));
    CHECK(members(group, first) == 1 && first[0] == 3);
    // All know of the first one before the second one dies.
    OK(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
    turn = 1;
    OK(MPIX_Comm_agree(MPI_COMM_WORLD, &turn));
    if (rank == 1) die();
    await_failures(MPI_COMM_WORLD, 2);
    OK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &later));
    CHECK(members(later, second) == 2 && second[0] == first[0] && second[1] == 1);
    OK(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group));
    CHECK(members(group, first) == 1 && first[0] == 3);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &acked));
    CHECK_EQ(acked, 1);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acked));
    CHECK_EQ(acked, 1);
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 100, &acked));
    CHECK_EQ(acked, 2);
    // Each communicator counts for itself; both groups of an intercommunicator count.
    CHECK_EQ(failures(part), rank % 2 ? 2 : 0);
    CHECK_EQ(failures(inter), 2);
    OK(MPIX_Comm_failure_get_acked(inter, &group));
    CHECK(group == MPI_GROUP_EMPTY);
    OK(MPIX_Comm_ack_failed(inter, 1, &acked));
    CHECK_EQ(acked, 1);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&part));
    return finish();
}
