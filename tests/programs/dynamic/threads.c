// ranks: 1
// timeout: 60
// cflags: -pthread
// Threads of two processes connect, communicate and disconnect at the same time, each pair at its own port.
#include "jobs.h"
#include <pthread.h>

#define THREADS 3
#define TIMES 100

static char ports[THREADS][MPI_MAX_PORT_NAME];
static int server;

static void *work(void *argument) {
    int me = (int)(intptr_t)argument;
    for (int turn = 0; turn < TIMES; turn++) {
        MPI_Comm inter, merged;
        int sum = -1, own = server ? me : 100 * me;
        if (server) MPI_Comm_accept(ports[me], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        else MPI_Comm_connect(ports[me], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        MPI_Intercomm_merge(inter, server, &merged);
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, merged);
        CHECK_EQ(sum, 101 * me);
        MPI_Comm_disconnect(&merged);
        MPI_Comm_disconnect(&inter);
    }
    return NULL;
}

int main(int argc, char **argv) {
    start_threads(&argc, &argv);
    server = argc == 1;
    pid_t other = 0;
    if (server) {
        char all[THREADS * MPI_MAX_PORT_NAME] = "";
        for (int i = 0; i < THREADS; i++) {
            MPI_Open_port(MPI_INFO_NULL, ports[i]);
            strcat(strcat(all, ports[i]), " ");
        }
        other = start_alone(argv[0], all, NULL);
    } else {
        char *at = strtok(argv[1], " ");
        for (int i = 0; i < THREADS; i++, at = strtok(NULL, " ")) snprintf(ports[i], sizeof ports[i], "%s", at);
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    if (server) end_job(other, 0);
    return finish();
}
