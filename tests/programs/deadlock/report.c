// ranks: 3
// sleeps: it waits for the time limit of mpirun
// one-host: ../hosts has the same between hosts
// timeout: 30
// launch: --timeout 3
// env: OXMPI_DEADLOCK=report
// expect-exit: 124
// expect-stderr: deadlock: no rank can go on
// expect-stderr: rank 0 waits for tag 7 from rank 2 on MPI_COMM_WORLD, but rank 2 sent tag 8 (4 bytes, not received)
// expect-stderr: ranks 1-2 in MPI_Barrier
// expect-stderr: the time limit of 3 s was reached
// With OXMPI_DEADLOCK=report the job goes on.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0;
    start(&argc, &argv);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) MPI_Send(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
