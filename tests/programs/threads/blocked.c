// ranks: 2 3
// sleeps: a rank comes late to every call
// attempts: 3
// cflags: -pthread
// A thread that is blocked in a receive, a wait or a probe lets the other threads of its rank communicate, and
// takes no CPU time while all are blocked.
#include "../check.h"
#include <pthread.h>

enum { WAYS = 4, TURNS = 2000 };
static int right, left;

static void *block(void *argument) {
    int way = (int)(intptr_t)argument, value = -1;
    MPI_Request r;
    MPI_Status status;
    MPI_Message message;
    switch (way) {
    case 0: MPI_Recv(&value, 1, MPI_INT, left, 50 + way, MPI_COMM_WORLD, &status); break;
    case 1:
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 50 + way, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, &status);
        break;
    case 2:
        MPI_Probe(left, 50 + way, MPI_COMM_WORLD, &status);
        MPI_Recv(&value, 1, MPI_INT, left, 50 + way, MPI_COMM_WORLD, &status);
        break;
    default:
        MPI_Mprobe(MPI_ANY_SOURCE, 50 + way, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    }
    CHECK_STATUS(status, left, 50 + way, (int)sizeof(int));
    CHECK_EQ(value, 1000 + way);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[WAYS];
    start_threads(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (intptr_t way = 0; way < WAYS; way++) CHECK_EQ(pthread_create(&threads[way], NULL, block, (void *)way), 0);
    sleep_ms(50);
    for (int i = 0; i < TURNS; i++) { // the main thread works on as if it were alone
        int out = i + rank, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, right, 1, &in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in != i + left) CHECK_EQ(in, i + left);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double cpu = cpu_seconds();
    sleep_ms(1000);
    cpu = cpu_seconds() - cpu;
    if (cpu > 0.25) CHECK_FAIL("four blocked threads used %.3f s of CPU in a second", cpu);
    for (int way = WAYS - 1; way >= 0; way--) {
        int value = 1000 + way;
        MPI_Send(&value, 1, MPI_INT, right, 50 + way, MPI_COMM_WORLD);
    }
    for (int way = 0; way < WAYS; way++) pthread_join(threads[way], NULL);
    return finish();
}
