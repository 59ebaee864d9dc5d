// ranks: 3
// one-host: ../hosts has the same between hosts
// timeout: 60
// cflags: -g
// expect-exit: 121
// expect-stderr: deadlock:
// expect-stderr: rank 0 in MPI_Recv at lines.c:19 from rank 2, tag 7, on MPI_COMM_WORLD
// expect-stderr: ranks 1-2 in MPI_Barrier at lines.c:22 on MPI_COMM_WORLD
// The report of a deadlock has the source lines of the calls, and ranks are grouped by them.
#include "../check.h"
#include <string.h>

int main(int argc, char **argv) {
    int value = 0;
    start(&argc, &argv);
    for (int i = 0; i < 20; i++) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        // The next line is in the report.
        MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        // And so is the next.
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
