// ranks: 4
// sleeps: it waits for the report
// one-host: ../hosts has the same between hosts
// timeout: 30
// expect-exit: 121
// expect-stdout: the others have finished
// expect-stderr: deadlock: 2 ranks cannot go on, whatever the others do
// expect-stderr: ranks 1 and 2 wait for each other
// expect-stderr: no other rank is left; the job was stopped because of the deadlock
// Two ranks wait for each other while others do useful work: that is told at once, and ends the job when the others have ended.
#include "../check.h"
#include <unistd.h>

int main(int argc, char **argv) {
    int value;
    start(&argc, &argv);
    if (rank == 1 || rank == 2) {
        MPI_Recv(&value, 1, MPI_INT, 3 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    sleep(2);
    if (rank == 0) printf("the others have finished\n");
    return finish();
}
