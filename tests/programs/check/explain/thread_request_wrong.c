// ranks: 1
// launch: --check=error
// expect-exit: nonzero
// expect-stderr: OX-THREAD-REQUEST: rank 0: the request of MPI_Irecv
// cflags: -pthread
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

static MPI_Request request;

static void *work(void *unused) {
    MPI_Request own = request;
    MPI_Wait(&own, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv) {
    int provided, value, sent = 5;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    usleep(200000);
    MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
