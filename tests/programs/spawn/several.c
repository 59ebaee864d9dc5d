// ranks: 2 3
// cflags: -pthread
// Each rank spawns its own children at the same time, in two threads; the jobs are separate, and
// communicate with their parents only.
#include "family.h"
#include <pthread.h>

static char **own_argv;

static void *raise_family(void *own) {
    MPI_Comm *comm = own, children;
    int told[2], heard = -1, name;
    OK(spawn_self(own_argv, "child", 2, 0, *comm, &children));
    OK(MPI_Comm_compare(*comm, MPI_COMM_SELF, &name));
    told[0] = rank;
    told[1] = name;
    OK(MPI_Bcast(told, 2, MPI_INT, MPI_ROOT, children));
    for (int i = 0; i < 2; i++) {
        OK(MPI_Recv(&heard, 1, MPI_INT, i, 5, children, MPI_STATUS_IGNORE));
        CHECK_EQ(heard, 100 * rank + 10 * name + i);
    }
    OK(MPI_Comm_disconnect(&children));
    return NULL;
}

int main(int argc, char **argv) {
    start_threads(&argc, &argv);
    return_errors();
    if (is_child()) {
        int told[2], answer;
        OK(MPI_Bcast(told, 2, MPI_INT, 0, parent));
        answer = 100 * told[0] + 10 * told[1] + rank;
        OK(MPI_Send(&answer, 1, MPI_INT, 0, 5, parent));
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    own_argv = argv;
    MPI_Comm comms[] = {MPI_COMM_SELF, MPI_COMM_NULL};
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[1]));
    pthread_t other;
    CHECK(!pthread_create(&other, NULL, raise_family, &comms[0]));
    raise_family(&comms[1]);
    CHECK(!pthread_join(other, NULL));
    OK(MPI_Comm_free(&comms[1]));
    return finish();
}
