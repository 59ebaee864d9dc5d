// ranks: 1
// launch: --check=error
// cflags: -pthread
#include <mpi.h>
#include <pthread.h>

static void *work(void *unused) {
    static int sent = 5;
    MPI_Request request;
    MPI_Isend(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    MPI_Request_free(&request);
    return unused;
}

int main(int argc, char **argv) {
    int provided, value;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
