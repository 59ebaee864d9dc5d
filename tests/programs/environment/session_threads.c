// ranks: 1 2 3 4 7 8
// cflags: -pthread
// Sessions are opened and closed from several threads at once, and so are info objects and error handlers.
#include "../check.h"
#include <pthread.h>

static void handler(MPI_Session *session, int *code, ...) {
    (void)session;
    (void)code;
}

static void *work(void *argument) {
    (void)argument;
    for (int i = 0; i < 200; i++) {
        MPI_Session session;
        MPI_Errhandler own;
        MPI_Info info;
        int n = -1;
        OK(MPI_Session_create_errhandler(handler, &own));
        OK(MPI_Session_init(MPI_INFO_NULL, own, &session));
        OK(MPI_Errhandler_free(&own));
        OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
        CHECK(n >= 2);
        OK(MPI_Session_get_pset_info(session, "mpi://WORLD", &info));
        OK(MPI_Info_free(&info));
        OK(MPI_Session_finalize(&session));
    }
    return NULL;
}

static void all(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, work, NULL));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

int main(int argc, char **argv) {
    all();
    start_threads(&argc, &argv);
    all();
    MPI_Finalize();
    all();
    return 0;
}
