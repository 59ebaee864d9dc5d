// ranks: 2
// launch: --check=error
// cflags: -pthread
// Threads that the level allows: the main one among others, and all where they take turns or may do anything.
// args: 1
// args: 2
// args: 3
#include "../check.h"
#include <pthread.h>

static int level;

static void *work(void *unused) {
    (void)unused;
    int flag, provided;
    MPI_Initialized(&flag);
    MPI_Query_thread(&provided);
    MPI_Is_thread_main(&flag);
    CHECK(!flag && provided >= level);
    if (provided >= MPI_THREAD_SERIALIZED) MPI_Barrier(MPI_COMM_WORLD);
    return NULL;
}

int main(int argc, char **argv) {
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    int provided;
    level = levels[atoi(argv[1])];
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
