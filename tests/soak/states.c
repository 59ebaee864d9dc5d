// A job that stays in one state of MPI until it is killed: states <state>. Rank 0 prints "ready"
// when all ranks are there or about to be. `cargo xtask soak` runs it.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 3, LARGE = 4 << 20, THREADS = 3 };

static int rank, size;

static void ready(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
    }
}

static void stay_away(void) {
    for (;;) pause();
}

// Small messages round a ring, without end.
static void eager(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    long token = 0;
    ready();
    if (rank == 0) MPI_Send(&token, 1, MPI_LONG, right, TAG, MPI_COMM_WORLD);
    for (;;) {
        MPI_Recv(&token, 1, MPI_LONG, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token++;
        MPI_Send(&token, 1, MPI_LONG, right, TAG, MPI_COMM_WORLD);
    }
}

// Large messages in both directions at a time: both sides copy.
static void large(void) {
    char *out = malloc(LARGE), *in = malloc(LARGE);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (!out || !in) abort();
    memset(out, rank, LARGE);
    ready();
    for (;;)
        MPI_Sendrecv(out, LARGE, MPI_BYTE, right, TAG, in, LARGE, MPI_BYTE, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// A flood that its receiver never takes: the sender waits for room.
static void flood(void) {
    char block[4096] = {0};
    ready();
    if (rank == 0) stay_away();
    for (;;) MPI_Send(block, sizeof block, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

static void receive(void) {
    int value;
    ready();
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void probe(void) {
    ready();
    MPI_Probe((rank + 1) % size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void synchronous(void) {
    ready();
    MPI_Ssend(&rank, 1, MPI_INT, (rank + 1) % size, TAG, MPI_COMM_WORLD);
}

static void waitany(void) {
    int values[2], index;
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(values + i, 1, MPI_INT, (rank + i) % size, TAG, MPI_COMM_WORLD, requests + i);
    ready();
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static void barrier(void) {
    ready();
    if (rank == 0) stay_away();
    MPI_Barrier(MPI_COMM_WORLD);
}

// One computes and never looks at MPI, the others wait for it.
static void compute(void) {
    ready();
    for (volatile long turns = 0; rank == 0; turns++) {}
    MPI_Barrier(MPI_COMM_WORLD);
}

// MPI_Finalize waits for a message that is not received.
static void finalize(void) {
    static char block[LARGE];
    MPI_Request request;
    if (rank != 0) {
        MPI_Isend(block, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    ready();
    if (rank == 0) stay_away();
    MPI_Finalize();
    stay_away();
}

static void *one_thread(void *number) {
    int tag = TAG + (int)(long)number, right = (rank + 1) % size, left = (rank + size - 1) % size;
    char out[20000] = {0}, in[20000];
    for (;;) {
        MPI_Sendrecv(out, sizeof out, MPI_BYTE, right, tag, in, sizeof in, MPI_BYTE, left, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads(void) {
    pthread_t thread;
    ready();
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, one_thread, (void *)i)) abort();
    stay_away();
}

// A whole life, short.
static void life(void) {
    long token = rank;
    for (int i = 0; i < 10; i++) {
        MPI_Sendrecv_replace(&token, 1, MPI_LONG, (rank + 1) % size, TAG, (rank + size - 1) % size, TAG,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(300);
    }
    MPI_Finalize();
    exit(0);
}

// One has not come to MPI yet; the others are in MPI_Init, or wait for it after that.
static void wait_for_the_late(void) {
    const char *text = getenv("OXMPI_RANK");
    if (text && atoi(text) == 0) stay_away();
    if (text && atoi(text) == 1) {
        puts("ready");
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } states[] = {
        {"eager", eager},     {"large", large},     {"flood", flood},     {"receive", receive},   {"probe", probe},
        {"ssend", synchronous}, {"waitany", waitany}, {"barrier", barrier}, {"compute", compute}, {"finalize", finalize},
        {"threads", threads}, {"life", life},       {"late", barrier},
    };
    int given;
    if (argc > 1 && !strcmp(argv[1], "late")) wait_for_the_late();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; argc > 1 && i < sizeof states / sizeof *states; i++)
        if (!strcmp(argv[1], states[i].name)) states[i].run();
    fprintf(stderr, "the state came to an end, or there is no such state\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
}
