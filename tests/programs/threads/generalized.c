// ranks: 1 2
// attempts: 3
// cflags: -pthread
// A thread completes a generalized request while the main thread is blocked in a wait for it: alone, in a list
// with receives that never complete, and in a list with receives that do.
#include "../check.h"
#include <pthread.h>

static int freed;

static int query(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = 5;
    return MPI_SUCCESS;
}

static int release(void *extra) {
    (void)extra;
    freed++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static void *completer(void *argument) {
    sleep_ms(50);
    MPI_Grequest_complete(*(MPI_Request *)argument);
    return NULL;
}

int main(int argc, char **argv) {
    start_threads(&argc, &argv);
    int value = -1, index = -1, count = -1, indices[2];
    for (int way = 0; way < 4; way++) {
        pthread_t thread;
        MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, copy;
        MPI_Status statuses[2];
        MPI_Grequest_start(query, release, cancel, NULL, &r[1]);
        copy = r[1];
        if (way) MPI_Irecv(&value, 1, MPI_INT, rank, way, MPI_COMM_WORLD, &r[0]);
        CHECK_EQ(pthread_create(&thread, NULL, completer, &copy), 0);
        double began = MPI_Wtime();
        switch (way) {
        case 0: OK(MPI_Wait(&r[1], &statuses[1])); break;
        case 1: OK(MPI_Waitany(2, r, &index, &statuses[1])); CHECK_EQ(index, 1); break;
        case 2: OK(MPI_Waitsome(2, r, &count, indices, &statuses[1])); CHECK_EQ(count, 1); CHECK_EQ(indices[0], 1); break;
        default:
            MPI_Send(&way, 1, MPI_INT, rank, way, MPI_COMM_WORLD);
            OK(MPI_Waitall(2, r, statuses));
            CHECK_EQ(value, way);
        }
        CHECK(MPI_Wtime() - began < 1); // woken up, not found by chance much later
        CHECK_EQ(statuses[1].MPI_TAG, 5);
        CHECK(r[1] == MPI_REQUEST_NULL);
        CHECK_EQ(freed, way + 1);
        pthread_join(thread, NULL);
        if (r[0] != MPI_REQUEST_NULL) {
            MPI_Cancel(&r[0]);
            MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        }
    }
    return finish();
}
