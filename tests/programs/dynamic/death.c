// ranks: 1 2
// sleeps: each case waits until a death is noticed
// timeout: 40
// A process of another job that dies is not waited for: operations with it fail, and others can still connect.
#include "jobs.h"
#include <signal.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter, merged;
    if (argc > 1) {
        MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        MPI_Intercomm_merge(inter, 1, &merged);
        if (argv[1][0] == 'd') raise(SIGKILL);
        if (argv[1][0] == 'a') MPI_Abort(MPI_COMM_WORLD, 3);
        if (argv[1][0] == 'e') return finish();
        MPI_Barrier(merged);
        MPI_Comm_disconnect(&merged);
        MPI_Comm_disconnect(&inter);
        return finish();
    }
    return_errors();
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    static const char *ends[] = {"dies", "aborts", "ends", "lives"};
    for (int turn = 0; turn < 4; turn++) {
        pid_t client = rank == 0 ? start_alone(argv[0], ends[turn], port) : 0;
        int status;
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        MPI_Intercomm_merge(inter, 0, &merged);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
        if (turn == 3) {
            OK(MPI_Barrier(merged));
        } else {
            // It is dead when it has been reaped.
            if (rank == 0) CHECK_EQ(waitpid(client, &status, 0), client);
            char byte = 0, *bytes = get_memory(1 << 20);
            MPI_Request request;
            CHECK_CLASS(MPI_Recv(&byte, 1, MPI_BYTE, 0, 0, inter, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
            OK(MPI_Isend(bytes, 1 << 20, MPI_BYTE, 0, 0, inter, &request));
            MPI_Request_free(&request);
            free(bytes);
        }
        MPI_Comm_disconnect(&merged);
        MPI_Comm_disconnect(&inter);
        if (rank == 0 && turn == 3) end_job(client, 0);
    }
    if (rank == 0) MPI_Close_port(port);
    return finish();
}
