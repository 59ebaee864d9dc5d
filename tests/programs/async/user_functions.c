// ranks: 2 3
// env: OXMPI_ASYNC_PROGRESS=1
// timeout: 60
// With asynchronous progress, functions of the program are still called by its own thread only: below MPI_THREAD_MULTIPLE they
// may use what the program uses. The operation waits for the program then, and is right.
#include "../check.h"
#include <pthread.h>

enum { COUNT = 100000 };

static pthread_t program;
static int calls;

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    CHECK(pthread_equal(pthread_self(), program));
    calls++;
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv) {
    program = pthread_self();
    start(&argc, &argv);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    int *own = get_memory(COUNT * sizeof(int)), *sums = get_memory(COUNT * sizeof(int));
    for (int turn = 0; turn < 5; turn++) {
        MPI_Request request;
        for (int i = 0; i < COUNT; i++) own[i] = (rank + 1) * (i + turn);
        MPI_Iallreduce(own, sums, COUNT, MPI_INT, op, MPI_COMM_WORLD, &request);
        sleep_ms(50);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++) CHECK_EQ(sums[i], size * (size + 1) / 2 * (i + turn));
    }
    // Over several nodes not every rank combines.
    MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(calls > 0);
    MPI_Op_free(&op);
    free(own);
    free(sums);
    return finish();
}
