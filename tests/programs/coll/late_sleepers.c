// ranks: 2
// timeout: 60
// attempts: 3
// one-host: it delays the wake-ups of processes that share memory
// no-check: measures a short time; records of the calls wake ranks that should sleep late
// On a machine where a sleeping process wakes up late, processes that wait for each other do not sleep at every step once one of
// them was late. A system call of the test that delays every wake-up simulates such a machine.
#define _GNU_SOURCE
#include "../check.h"
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const double late = 6e-3;
static int sleeps;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

// The library's, since it comes first.
long syscall(long number, ...) {
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    long result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT) {
        sleeps++;
        for (double end = seconds() + late; seconds() < end;)
            ;
    }
    return result;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    // Long enough for the other to sleep.
    if (rank == 0)
        usleep(100000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1)
        CHECK(sleeps > 0);

    enum { STEPS = 300 };
    double begin = seconds();
    for (int i = 0; i < STEPS; i++)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    // A late one each would be almost two seconds; the first few are.
    CHECK(seconds() - begin < STEPS * late / 2);
    return finish();
}
