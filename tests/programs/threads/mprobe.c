// ranks: 1 2 3
// cflags: -pthread
// Several threads take messages by matching probe with wildcards: each message goes to exactly one
// of them and is received by the thread that matched it, with the size that its probe returned.
#include "../check.h"
#include <pthread.h>

enum { THREADS = 4, EACH = 400 };
static int seen[8][EACH], right, left;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int length_of(int i) { return (int)sizeof(int) * (1 + i * 13 % 500); }

static void *take(void *unused) {
    for (;;) {
        MPI_Message message;
        MPI_Status status;
        int bytes = -1, flag = 0;
        if (rand() & 1)
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        else
            while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        int *in = get_memory(bytes), tag = status.MPI_TAG;
        MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status);
        if (tag == EACH) { // the end, for one thread
            free(in);
            return unused;
        }
        CHECK_STATUS(status, left, tag, length_of(tag));
        CHECK_EQ(in[0], tag);
        pthread_mutex_lock(&lock);
        seen[left][tag]++;
        pthread_mutex_unlock(&lock);
        free(in);
    }
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    static int out[500];
    start_threads(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, take, NULL);
    for (int i = 0; i < EACH; i++) {
        out[0] = i;
        MPI_Send(out, length_of(i), MPI_BYTE, right, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < THREADS; i++) MPI_Send(out, 0, MPI_BYTE, right, EACH, MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < EACH; i++) CHECK_EQ(seen[left][i], 1);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
