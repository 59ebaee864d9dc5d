// ranks: 1 2 3
// cflags: -pthread
// Requests started by one thread are completed by others, each thread by another kind of call, while messages for
// all of them come in.
#include "../check.h"
#include <pthread.h>

enum { THREADS = 6, EACH = 300 };
static int right, left, in[THREADS][EACH];
static MPI_Request requests[THREADS][EACH];

static void check_one(int id, int i, const MPI_Status *status) {
    CHECK_STATUS(*status, left, id * EACH + i, (int)sizeof(int));
    if (in[id][i] != 10 * (id * EACH + i) + left) CHECK_EQ(in[id][i], 10 * (id * EACH + i) + left);
}

static void *complete(void *argument) {
    int id = (int)(intptr_t)argument, flag, index, count, indices[EACH];
    MPI_Request *mine = requests[id];
    static MPI_Status all[THREADS][EACH];
    MPI_Status *statuses = all[id], status;
    switch (id) {
    case 0:
        for (int i = 0; i < EACH; i++) {
            MPI_Wait(&mine[i], &status);
            check_one(id, i, &status);
        }
        break;
    case 1:
        for (int i = EACH - 1; i >= 0; i--) {
            for (flag = 0; !flag;) MPI_Test(&mine[i], &flag, &status);
            check_one(id, i, &status);
        }
        break;
    case 2:
        for (int i = 0; i < EACH; i++) {
            MPI_Waitany(EACH, mine, &index, &status);
            check_one(id, index, &status);
        }
        break;
    case 3:
        MPI_Waitall(EACH, mine, statuses);
        for (int i = 0; i < EACH; i++) check_one(id, i, &statuses[i]);
        break;
    case 4:
        for (int done = 0; done < EACH; done += count) {
            MPI_Waitsome(EACH, mine, &count, indices, statuses);
            for (int i = 0; i < count; i++) check_one(id, indices[i], &statuses[i]);
        }
        break;
    default:
        for (flag = 0; !flag;) MPI_Testall(EACH, mine, &flag, statuses);
        for (int i = 0; i < EACH; i++) check_one(id, i, &statuses[i]);
    }
    for (int i = 0; i < EACH; i++) CHECK(mine[i] == MPI_REQUEST_NULL);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    start_threads(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (int round = 0; round < 5; round++) {
        for (int id = 0; id < THREADS; id++)
            for (int i = 0; i < EACH; i++) {
                in[id][i] = -1;
                MPI_Irecv(&in[id][i], 1, MPI_INT, left, id * EACH + i, MPI_COMM_WORLD, &requests[id][i]);
            }
        for (intptr_t id = 0; id < THREADS; id++) pthread_create(&threads[id], NULL, complete, (void *)id);
        for (int i = 0; i < THREADS * EACH; i++) {
            int tag = i % THREADS * EACH + i / THREADS, value = 10 * tag + rank;
            MPI_Send(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
        }
        for (int id = 0; id < THREADS; id++) pthread_join(threads[id], NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
