// life WAIT [DEATH RANK]: all ranks meet and say so, then wait in MPI (recv), outside of it (sleep), or exchange messages
// (ring). After two seconds, one of them dies: kill, exit, abort or segv; or uses more memory than there is (memory).
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;

static void die(const char *how) {
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "exit")) _exit(3);
    if (!strcmp(how, "segv")) raise(SIGSEGV);
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 5);
    // At most 1 GiB, in case that nothing limits it.
    for (int i = 0; !strcmp(how, "memory") && i < 1024; i++) memset(malloc(1 << 20), 1, 1 << 20);
}

static void ring(void) {
    static char out[100000], in[100000];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Sendrecv(out, sizeof out, MPI_CHAR, right, 1, in, sizeof in, MPI_CHAR, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ring();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d lives\n", rank);
    fflush(stdout);
    const char *wait = argc > 1 ? argv[1] : "recv";
    int victim = argc > 3 ? atoi(argv[3]) : -1;
    if (rank == victim) {
        time_t end = time(NULL) + 2;
        while (time(NULL) < end) {
            if (!strcmp(wait, "ring")) ring();
            else usleep(10000);
        }
        die(argv[2]);
    }
    for (;;) {
        int nothing;
        if (!strcmp(wait, "recv")) MPI_Recv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (!strcmp(wait, "ring")) ring();
        else sleep(1);
    }
}
