// ranks: 4
// sleeps: it waits for the time limit of mpirun
// timeout: 60
// cflags: -g
// launch: --timeout 3 --pretend-hosts 2
// env: OXMPI_DEADLOCK=off
// one-host: it names its hosts itself
// expect-exit: 124
// expect-stderr: rank 0 in MPI_Recv at lines_hosts.c:19 from rank 3, tag 7, on MPI_COMM_WORLD
// expect-stderr: at lines_hosts.c:21
// The lines of calls on other hosts: the agent of each host looks them up.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0;
    start(&argc, &argv);
    if (rank == 0) {
        // The next line is in the report.
        MPI_Recv(&value, 1, MPI_INT, 3, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
