// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-THREAD-LEVEL: ranks 0,1: MPI_Barrier
// cflags: -pthread
#include <mpi.h>
#include <pthread.h>

static void *work(void *unused) {
    (void)unused;
    MPI_Barrier(MPI_COMM_WORLD);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
