// ranks: 2
// sleeps: it waits for a signal
// expect-exit: 7
// timeout: 20
// A program that waits for a message that never comes, and has arranged its own end.
#include "../check.h"
#include <signal.h>
#include <unistd.h>

static void end(int signal) {
    (void)signal;
    _exit(7);
}

int main(int argc, char **argv) {
    int value;
    start(&argc, &argv);
    signal(SIGALRM, end);
    alarm(3);
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
