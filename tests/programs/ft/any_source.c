// ranks: 4
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// no-check: receives share a buffer
// Receives from any source: a pending one stays so, is completed after the failure is acknowledged, or cancelled.
#include "ft.h"

enum { DEAD = 3 };

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int in = 0, flag = 1, acked = -1, count = -1, index = -1;
    MPI_Request pending, other, both[2];
    MPI_Status status, statuses[2];
    meet_at(DEAD);
    if (rank == DEAD) {
        sleep_ms(200);
        die();
    }
    if (rank != 0) {
        await_failures(MPI_COMM_WORLD, 1);
        // When rank 0 says so.
        OK(MPI_Recv(&in, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status));
        OK(MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
        return finish();
    }
    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &pending));
    FAILS(MPI_Wait(&pending, &status), PENDING);
    CHECK(pending != MPI_REQUEST_NULL);
    FAILS(MPI_Test(&pending, &flag, &status), PENDING);
    CHECK_EQ(flag, 0);
    // Blocking calls cannot stay pending.
    FAILS(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status), PROC_FAILED);
    FAILS(MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status), PROC_FAILED);
    FAILS(MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &status), PROC_FAILED);
    both[0] = pending;
    OK(MPI_Irecv(&count, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, &both[1]));
    CHECK_CLASS(MPI_Waitall(2, both, statuses), MPI_ERR_IN_STATUS);
    CHECK_EQ(statuses[0].MPI_ERROR, PENDING);
    FAILS(MPI_Waitany(2, both, &index, &status), PENDING);
    CHECK_EQ(index, 0);
    pending = both[0], other = both[1];
    OK(MPI_Cancel(&other));
    OK(MPI_Wait(&other, &status));
    OK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acked));
    CHECK_EQ(acked, 1);
    OK(MPI_Test(&pending, &flag, &status));
    CHECK_EQ(flag, 0);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, &status));
    CHECK_EQ(flag, 0);
    OK(MPI_Send(&in, 1, MPI_INT, 2, 2, MPI_COMM_WORLD));
    OK(MPI_Wait(&pending, &status));
    CHECK_EQ(status.MPI_SOURCE, 2);
    CHECK_EQ(in, 2);
    OK(MPI_Send(&in, 1, MPI_INT, 1, 2, MPI_COMM_WORLD));
    OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
    CHECK_EQ(in, 1);
    // One that is pending can be cancelled.
    OK(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &pending));
    OK(MPI_Cancel(&pending));
    OK(MPI_Wait(&pending, &status));
    MPI_Test_cancelled(&status, &flag);
    CHECK_EQ(flag, 1);
    return finish();
}
