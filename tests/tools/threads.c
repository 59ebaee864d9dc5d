// Four threads of each rank communicate at the same time in all ways that threads use. With the argument `race`, two of them
// also change a variable without anything that orders them.
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20, LONG = 100000 };

static int rank, size, races;
static MPI_Comm comms[THREADS];
static pthread_barrier_t start;
int counter;

// In no call of MPI and without a lock: this is the race.
static void count(void) {
    for (int i = 0; i < 1000; i++) counter++;
}

// Messages around the ring, short and long, blocking and not; a thread's tag keeps them apart.
static void ring(int thread) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        int ints = i % 5 == 4 ? LONG / 4 : 1 + i;
        int *in = malloc(sizeof(int) * ints), *out = malloc(sizeof(int) * ints);
        for (int k = 0; k < ints; k++) out[k] = rank + thread + i + k;
        MPI_Request requests[2];
        MPI_Irecv(in, ints, MPI_INT, before, thread, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, ints, MPI_INT, next, thread, MPI_COMM_WORLD, &requests[1]);
        int done = 0;
        while (i % 2 && !done) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        if (!done) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < ints; k++)
            if (in[k] != before + thread + i + k) abort();
        free(in);
        free(out);
    }
}

// What one thread of the rank has prepared, another one sends: the message orders them.
static int handed[2][THREADS];

static void hand_over(int thread) {
    int value;
    handed[0][thread] = 100 * rank + thread;
    MPI_Send(&handed[0][thread], 1, MPI_INT, rank, 100 + (thread + 1) % THREADS, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, rank, 100 + thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (value != 100 * rank + (thread + THREADS - 1) % THREADS) abort();
    if (handed[0][(thread + THREADS - 1) % THREADS] != value) abort();
}

static void collective(int thread) {
    for (int i = 0; i < ROUNDS; i++) {
        int in = rank + i, sum = 0;
        MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comms[thread]);
        if (sum != size * i + size * (size - 1) / 2) abort();
        MPI_Barrier(comms[thread]);
    }
}

static void *work(void *argument) {
    int thread = (int)(intptr_t)argument;
    pthread_barrier_wait(&start);
    if (races && thread < 2) count();
    ring(thread);
    hand_over(thread);
    collective(thread);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) abort();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    races = argc > 1 && !strcmp(argv[1], "race");
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    if (rank == 0) puts("threads: passed");
    return 0;
}
