// ranks: 2 3
// Threads mark the partitions that they have computed, and threads take those that have come.
#include "../check.h"
#include <pthread.h>

enum { THREADS = 4, PARTITIONS = 64, LENGTH = 500, ROUNDS = 30 };

static MPI_Request request;
static int data[PARTITIONS][LENGTH], round_;

static void *send_some(void *arg) {
    for (int p = (int)(intptr_t)arg; p < PARTITIONS; p += THREADS) {
        for (int i = 0; i < LENGTH; i++) data[p][i] = round_ * 1000000 + p * LENGTH + i;
        OK(MPI_Pready(p, request));
    }
    return NULL;
}

static void *take_some(void *arg) {
    for (int p = (int)(intptr_t)arg; p < PARTITIONS; p += THREADS) {
        for (int flag = 0; !flag;) OK(MPI_Parrived(request, p, &flag));
        for (int i = 0; i < LENGTH; i++) CHECK_EQ(data[p][i], round_ * 1000000 + p * LENGTH + i);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        OK(MPI_Psend_init(data, PARTITIONS, LENGTH, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (rank == 1)
        OK(MPI_Precv_init(data, PARTITIONS, LENGTH, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    for (round_ = 0; round_ < ROUNDS && rank < 2; round_++) {
        pthread_t thread[THREADS];
        OK(MPI_Start(&request));
        for (intptr_t t = 0; t < THREADS; t++) pthread_create(&thread[t], NULL, rank ? take_some : send_some, (void *)t);
        for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (rank < 2) OK(MPI_Request_free(&request));
    MPI_Finalize();
    return 0;
}
