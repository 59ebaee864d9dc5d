// ranks: 4
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// Communicators cannot be made of one with a failed member, except of a group without it; what exists can be freed.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int dead = size - 1, dims[] = {2, 2}, periods[] = {0, 0}, without[1];
    MPI_Comm old, made = MPI_COMM_SELF, few;
    MPI_Group world, living;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &old));
    meet_at(dead);
    if (rank == dead) die();
    await_failures(MPI_COMM_WORLD, 1);
    FAILS(MPI_Comm_dup(MPI_COMM_WORLD, &made), PROC_FAILED);
    CHECK(made == MPI_COMM_NULL);
    made = MPI_COMM_SELF;
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made), PROC_FAILED);
    CHECK(made == MPI_COMM_NULL);
    made = MPI_COMM_SELF;
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &made), PROC_FAILED);
    CHECK(made == MPI_COMM_NULL);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    made = MPI_COMM_SELF;
    FAILS(MPI_Comm_create(MPI_COMM_WORLD, world, &made), PROC_FAILED);
    CHECK(made == MPI_COMM_NULL);
    without[0] = dead;
    MPI_Group_excl(world, 1, without, &living);
    // Looks at its group only; again with the same tag.
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, living, 5, &few));
        OK(MPI_Barrier(few));
        OK(MPI_Comm_free(&few));
    }
    made = MPI_COMM_SELF;
    FAILS(MPI_Comm_create_group(MPI_COMM_WORLD, world, 5, &made), PROC_FAILED);
    CHECK(made == MPI_COMM_NULL);
    MPI_Group_free(&world);
    MPI_Group_free(&living);
    // Local, because a member has failed.
    if (rank == 0) sleep_ms(200);
    OK(MPI_Comm_disconnect(&old));
    return finish();
}
