// ranks: 1 2 3 4 7 8
// cflags: -pthread
// Threads make communicators at the same time: from communicators of their own, from one communicator with tags of their own,
// from groups with strings of their own, and between groups.
#include "../check.h"
#include <pthread.h>

#define THREADS 4
#define ROUNDS 150

static MPI_Comm own_comm[THREADS];
static MPI_Group world;

static void ring(MPI_Comm comm, int value) {
    int got = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    OK(MPI_Sendrecv(&value, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(got, value);
}

static void *work(void *argument) {
    int me = (int)(intptr_t)argument;
    char tag[32];
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm a, b, c, d;
        MPI_Request request;
        OK(MPI_Comm_dup(own_comm[me], &a));
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, world, me, &b));
        snprintf(tag, sizeof tag, "thread %d", me);
        OK(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
        OK(MPI_Comm_idup(a, &d, &request));
        ring(a, 1000 * me + i);
        ring(c, 2000 * me + i);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        ring(d, 3000 * me + i);
        ring(b, 4000 * me + i);
        OK(MPI_Comm_free(&a));
        OK(MPI_Comm_free(&b));
        OK(MPI_Comm_split(c, rank % 2, 0, &a));
        if (size > 1) {
            MPI_Comm inter, merged;
            // Intercommunicators of all threads over one communicator, distinguished by their tags.
            OK(MPI_Intercomm_create(a, 0, MPI_COMM_WORLD, 1 - rank % 2, me, &inter));
            OK(MPI_Intercomm_merge(inter, rank % 2, &merged));
            int n;
            OK(MPI_Comm_size(merged, &n));
            CHECK_EQ(n, size);
            OK(MPI_Comm_free(&merged));
            OK(MPI_Comm_free(&inter));
        }
        OK(MPI_Comm_free(&a));
        OK(MPI_Comm_free(&c));
        OK(MPI_Comm_free(&d));
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    start_threads(&argc, &argv);
    return_errors();
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own_comm[i]));
    // The threads start in another order on each process.
    for (int i = 0; i < THREADS; i++) {
        int which = (i + rank) % THREADS;
        CHECK_EQ(pthread_create(&threads[which], NULL, work, (void *)(intptr_t)which), 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&own_comm[i]));
    OK(MPI_Group_free(&world));
    return finish();
}
