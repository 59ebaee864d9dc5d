// ranks: 1 2 3 4
// cflags: -pthread -O2
// Several threads of each rank exchange messages with their namesakes of the next rank, small and large, each
// on its own tag, all at once.
#include "../check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 100 };
static int right, left;

static void *talk(void *argument) {
    int id = (int)(intptr_t)argument;
    static const int sizes[] = {0, 8, 1000, 9000, 100000};
    char *out = get_memory(100000), *in = get_memory(100000);
    for (int i = 0; i < ROUNDS; i++) {
        int n = sizes[(i + id) % 5];
        MPI_Request r[2];
        MPI_Status statuses[2];
        fill(out, n, 1000 * rank + 10 * i + id);
        MPI_Irecv(in, 100000, MPI_BYTE, left, id, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out, n, MPI_BYTE, right, id, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, statuses);
        CHECK_STATUS(statuses[0], left, id, n);
        CHECK_PATTERN(in, n, 1000 * left + 10 * i + id);
        // And blocking: even ranks send first (a ring of odd length has a pair of equals; isend breaks the tie).
        MPI_Request send;
        MPI_Isend(out, n, MPI_BYTE, right, 100 + id, MPI_COMM_WORLD, &send);
        MPI_Recv(in, 100000, MPI_BYTE, left, 100 + id, MPI_COMM_WORLD, &statuses[0]);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, n, 1000 * left + 10 * i + id);
    }
    free(out);
    free(in);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    start_threads(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (intptr_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, talk, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return finish();
}
