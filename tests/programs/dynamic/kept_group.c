// ranks: 1
// timeout: 30
// Two processes connect, disconnect and connect again. The one that connects keeps the other's group, so that it goes on to
// name that process, while the one that accepts names nobody between two connections.
#include "jobs.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int server = argc == 1;
    char port[MPI_MAX_PORT_NAME];
    pid_t other = 0;
    if (server) {
        MPI_Open_port(MPI_INFO_NULL, port);
        other = start_alone(argv[0], port, NULL);
    } else {
        snprintf(port, sizeof port, "%s", argv[1]);
    }
    MPI_Group kept = MPI_GROUP_NULL;
    for (int turn = 0; turn < 20; turn++) {
        MPI_Comm inter;
        int got = -1, own = 10 * turn + server;
        if (server) MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        else MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        MPI_Sendrecv(&own, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
        CHECK_EQ(got, 10 * turn + !server);
        if (!server && turn == 0) MPI_Comm_remote_group(inter, &kept);
        MPI_Comm_disconnect(&inter);
    }
    if (server) end_job(other, 0);
    else MPI_Group_free(&kept);
    return finish();
}
