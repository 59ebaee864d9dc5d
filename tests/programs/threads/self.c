// ranks: 1 2
// cflags: -pthread
// One thread blocks in a receive from its own rank, and another sends the message: the blocked
// thread does not stop the other one. Also the other way round, with synchronous sends that block
// until the receive is posted.
#include "../check.h"
#include <pthread.h>

enum { ROUNDS = 200, LARGE = 300000 };
static int late;

static int length_of(int i) { return i % 4 == 3 ? LARGE : 1 + i; }

static void *receiver(void *unused) {
    char *in = get_memory(LARGE);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Status status;
        if (late && i % 20 == 0) sleep_ms(3);
        MPI_Recv(in, LARGE, MPI_BYTE, rank, i, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, rank, i, length_of(i));
        CHECK_PATTERN(in, length_of(i), i);
    }
    free(in);
    return unused;
}

static void send_all(void) {
    char *out = get_memory(LARGE);
    for (int i = 0; i < ROUNDS; i++) {
        if (!late && i % 20 == 0) sleep_ms(3);
        fill(out, length_of(i), i);
        if (i % 2)
            MPI_Ssend(out, length_of(i), MPI_BYTE, rank, i, MPI_COMM_WORLD);
        else
            MPI_Send(out, length_of(i), MPI_BYTE, rank, i, MPI_COMM_WORLD);
    }
    free(out);
}

int main(int argc, char **argv) {
    start_threads(&argc, &argv);
    for (late = 0; late < 2; late++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, receiver, NULL), 0);
        send_all();
        pthread_join(thread, NULL);
    }
    return finish();
}
