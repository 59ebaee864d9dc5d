// ranks: 1 2 3 4
// timeout: 120
// cflags: -pthread -O2
// Several threads on each rank send to and receive from everyone at random: each thread's tag keeps its traffic apart, and
// within a tag the order of each sending thread holds. All send modes, completion calls and sizes.
#include "../check.h"
#include <pthread.h>

enum { THREADS = 3, MESSAGES = 300, LARGE = 100000 };

static uint64_t mix(uint64_t x) {
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27, x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int bytes_of(int from, int thread, int to, int i) {
    uint64_t x = mix(((uint64_t)(from * 8 + thread) * 16 + to) * 1024 + i + 1);
    return 8 + (int)(x % 10 == 0 ? x % (LARGE - 8) : x % 10 < 5 ? x % 50 : x % 6000);
}

// Thread t of every rank sends message i to rank (i + t) % size, and its namesake there receives it.
static void *sender(void *argument) {
    int t = (int)(intptr_t)argument;
    MPI_Request r[8];
    char *bufs[8] = {0};
    for (int i = 0; i < 8; i++) r[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < MESSAGES; i++) {
        int to = (i + t) % size, n = bytes_of(rank, t, to, i), slot = -1, flag = 0;
        for (int k = 0; k < 8 && slot < 0; k++)
            if (r[k] == MPI_REQUEST_NULL) slot = k;
        if (slot < 0) {
            if (i % 2)
                MPI_Waitany(8, r, &slot, MPI_STATUS_IGNORE);
            else
                while (!flag) MPI_Testany(8, r, &slot, &flag, MPI_STATUS_IGNORE);
        }
        free(bufs[slot]);
        char *out = bufs[slot] = get_memory(n);
        memcpy(out, &i, sizeof i);
        fill(out + 8, n - 8, rank + 100 * t + i);
        if (i % 3)
            MPI_Isend(out, n, MPI_BYTE, to, t, MPI_COMM_WORLD, &r[slot]);
        else
            MPI_Issend(out, n, MPI_BYTE, to, t, MPI_COMM_WORLD, &r[slot]);
    }
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 8; i++) free(bufs[i]);
    return NULL;
}

static void *receiver(void *argument) {
    int t = (int)(intptr_t)argument, total = 0, next[16];
    char *in = get_memory(LARGE);
    for (int from = 0; from < size; from++) { // the first message of `from` that goes to me
        next[from] = (rank - t % size + size) % size;
        for (int i = next[from]; i < MESSAGES; i += size) total++;
    }
    for (int k = 0; k < total; k++) {
        MPI_Status status;
        MPI_Message message;
        MPI_Request r;
        int i = -1, flag = 0;
        switch (k % 4) {
        case 0: MPI_Recv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, t, MPI_COMM_WORLD, &status); break;
        case 1:
            MPI_Irecv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, t, MPI_COMM_WORLD, &r);
            MPI_Wait(&r, &status);
            break;
        case 2:
            MPI_Mprobe(MPI_ANY_SOURCE, t, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(in, LARGE, MPI_BYTE, &message, &status);
            break;
        default:
            MPI_Irecv(in, LARGE, MPI_BYTE, MPI_ANY_SOURCE, t, MPI_COMM_WORLD, &r);
            while (!flag) MPI_Test(&r, &flag, &status);
        }
        int from = status.MPI_SOURCE;
        memcpy(&i, in, sizeof i);
        CHECK_EQ(i, next[from]);
        next[from] += size;
        int n = bytes_of(from, t, rank, i);
        CHECK_STATUS(status, from, t, n);
        CHECK_PATTERN(in + 8, n - 8, from + 100 * t + i);
    }
    free(in);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[2 * THREADS];
    start_threads(&argc, &argv);
    for (intptr_t t = 0; t < THREADS; t++) {
        CHECK_EQ(pthread_create(&threads[2 * t], NULL, sender, (void *)t), 0);
        CHECK_EQ(pthread_create(&threads[2 * t + 1], NULL, receiver, (void *)t), 0);
    }
    for (int i = 0; i < 2 * THREADS; i++) pthread_join(threads[i], NULL);
    return finish();
}
