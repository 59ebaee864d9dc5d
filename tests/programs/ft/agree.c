// ranks: 3 5 8
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// Agreement: the value of all who take part; an error for all, with the same value, while a failure is not acknowledged by
// all; a rank dies before it, and another one while the others are in it.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int flag = ~(1 << rank), known = -1;
    OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
    CHECK_EQ(flag, ~((1 << size) - 1));
    for (int i = 0; i < 300; i++) {
        flag = i | (rank == i % size ? 0 : 1 << 20);
        OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
        CHECK_EQ(flag, i);
    }
    if (rank == size - 1) die();
    if (size > 3 && rank == size - 2) {
        // The others wait for this one.
        sleep_ms(200);
        die();
    }
    int dead = size > 3 ? 2 : 1;
    flag = rank == 0 ? 5 : 7;
    FAILS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), PROC_FAILED);
    CHECK_EQ(flag, 5);
    CHECK_EQ(failures(MPI_COMM_WORLD), dead);
    // One that has not acknowledged is enough.
    if (rank != 0) OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &known));
    flag = 6 | rank;
    FAILS(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), PROC_FAILED);
    CHECK_EQ(flag, 6);
    OK(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
    for (int i = 0; i < 100; i++) {
        flag = i | (rank == 0 ? 0 : 1 << 20);
        OK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag));
        CHECK_EQ(flag, i);
    }
    return finish();
}
