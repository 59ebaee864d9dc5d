// ranks: 1 2
// timeout: 60
// attempts: 3
// cflags: -pthread
// Threads that test a request repeatedly, where no ranks outnumber the CPUs: the threads that complete the requests
// must get their turn all the same.
#include "../check.h"
#include <pthread.h>

enum { POLLERS = 4, ROUNDS = 200 };

static void *sends(void *argument) {
    const int *tag = argument, value = *tag + 1;
    OK(MPI_Send(&value, 1, MPI_INT, rank, *tag, MPI_COMM_WORLD));
    return NULL;
}

static void *polls(void *argument) {
    int tag = (int)(intptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        int got = -1, done = 0;
        MPI_Request request;
        pthread_t sender;
        OK(MPI_Irecv(&got, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, &request));
        CHECK_EQ(pthread_create(&sender, NULL, sends, &tag), 0);
        while (!done) OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        pthread_join(sender, NULL);
        CHECK_EQ(got, tag + 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK_EQ(level, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return_errors();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    pthread_t pollers[POLLERS];
    for (int i = 0; i < POLLERS; i++) CHECK_EQ(pthread_create(&pollers[i], NULL, polls, (void *)(intptr_t)i), 0);
    for (int i = 0; i < POLLERS; i++) pthread_join(pollers[i], NULL);
    // Else each request takes a turn of the scheduler's, some milliseconds.
    const double each = (MPI_Wtime() - begin) / (POLLERS * ROUNDS);
    if (each > 2e-3) CHECK_FAIL("each request took %.1f ms", each * 1e3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
