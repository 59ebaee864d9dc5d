// ranks: 1 2 4
// timeout: 60
// Threads that call collectives at the same time, each on its own communicator; and some that do so
// while others exchange messages.
#include <pthread.h>

#include "coll.h"

enum { THREADS = 4, CALLS = 150, LONG = 3000 };
static MPI_Comm comms[THREADS + 1];

static void *work(void *argument) {
    int t = (int)(intptr_t)argument;
    MPI_Comm comm = comms[t];
    int *in = get_memory(LONG * (size_t)size * sizeof(int)), *out = get_memory(LONG * (size_t)size * sizeof(int));
    for (int c = 0; c < CALLS; c++) {
        int n = c % 10 == 9 ? LONG : c % 7 + 1, root = c % size;
        MPI_Request r;
        for (int i = 0; i < n * size; i++) in[i] = t * 1000 + c + rank * 10 + i, out[i] = -1;
        switch ((c + t) % 6) {
            case 0:
                OK(MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm));
                for (int i = 0; i < n; i++) CHECK_EQ(out[i], size * (t * 1000 + c + i) + 10 * (size * (size - 1) / 2));
                break;
            case 1:
                OK(MPI_Bcast(in, n, MPI_INT, root, comm));
                for (int i = 0; i < n; i++) CHECK_EQ(in[i], t * 1000 + c + root * 10 + i);
                break;
            case 2:
                OK(MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm));
                for (int i = 0; i < n * size; i++) CHECK_EQ(out[i], t * 1000 + c + i / n * 10 + rank * n + i % n);
                break;
            case 3:
                OK(MPI_Iallgather(in, n, MPI_INT, out, n, MPI_INT, comm, &r));
                OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
                for (int i = 0; i < n * size; i++) CHECK_EQ(out[i], t * 1000 + c + i / n * 10 + i % n);
                break;
            case 4:
                OK(MPI_Reduce(in, out, n, MPI_INT, MPI_MAX, root, comm));
                for (int i = 0; rank == root && i < n; i++) CHECK_EQ(out[i], t * 1000 + c + (size - 1) * 10 + i);
                break;
            case 5: OK(MPI_Barrier(comm)); break;
        }
    }
    free(in);
    free(out);
    return NULL;
}

static void *chat(void *argument) {
    (void)argument;
    for (int c = 0; c < CALLS; c++) {
        int out = c * 16 + rank, in = -1;
        OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, c, &in, 1, MPI_INT, MPI_ANY_SOURCE, c, comms[THREADS],
                        MPI_STATUS_IGNORE));
        CHECK_EQ(in, c * 16 + (rank + size - 1) % size);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS + 1];
    start_threads(&argc, &argv);
    return_errors();
    for (int t = 0; t <= THREADS; t++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    for (int t = 0; t < THREADS; t++) CHECK(!pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t));
    CHECK(!pthread_create(&threads[THREADS], NULL, chat, NULL));
    for (int t = 0; t <= THREADS; t++) pthread_join(threads[t], NULL);
    for (int t = 0; t <= THREADS; t++) OK(MPI_Comm_free(&comms[t]));
    return finish();
}
