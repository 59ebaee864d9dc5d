// ranks: 1
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-THREAD-CONCURRENT: rank 0: MPI_Send
// cflags: -pthread
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static void *work(void *unused) {
    static int sent = 5;
    usleep(200000);
    MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
    return unused;
}

int main(int argc, char **argv) {
    int provided, value;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
