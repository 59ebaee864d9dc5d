// ranks: 1
// launch: --check=error
// cflags: -pthread
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static MPI_Request request;

static void *work(void *unused) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv) {
    int provided, value, sent = 5;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    usleep(200000);
    MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
