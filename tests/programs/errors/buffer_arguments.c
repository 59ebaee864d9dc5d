// ranks: 1
// Every argument error of the functions that attach, detach and flush buffers.
#include "../check.h"

int main(int argc, char **argv) {
    static char room[1000];
    void *got;
    int n;
    MPI_Count c;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Comm none = MPI_COMM_NULL;
    start(&argc, &argv);
    return_errors();
    CHECK_ERROR(MPI_Buffer_attach(room, -1), MPI_ERR_ARG, "MPI_Buffer_attach");
    CHECK_ERROR(MPI_Buffer_attach(NULL, 1000), MPI_ERR_BUFFER, "MPI_Buffer_attach");
    CHECK_ERROR(MPI_Buffer_attach_c(room, -1), MPI_ERR_ARG, "MPI_Buffer_attach");
    CHECK_ERROR(MPI_Buffer_attach_c(NULL, 1000), MPI_ERR_BUFFER, "MPI_Buffer_attach");
    CHECK_ERROR(MPI_Comm_attach_buffer(none, room, 1000), MPI_ERR_COMM, "MPI_Comm_attach_buffer");
    CHECK_ERROR(MPI_Comm_attach_buffer(MPI_COMM_WORLD, room, -1), MPI_ERR_ARG, "MPI_Comm_attach_buffer");
    CHECK_ERROR(MPI_Comm_attach_buffer(MPI_COMM_WORLD, NULL, 1000), MPI_ERR_BUFFER, "MPI_Comm_attach_buffer");
    CHECK_ERROR(MPI_Comm_attach_buffer_c(none, room, 1000), MPI_ERR_COMM, "MPI_Comm_attach_buffer");
    CHECK_ERROR(MPI_Comm_attach_buffer_c(MPI_COMM_WORLD, room, -1), MPI_ERR_ARG, "MPI_Comm_attach_buffer");
    // None of these has attached anything.
    CHECK_ERROR(MPI_Buffer_detach(&got, &n), MPI_ERR_BUFFER, "MPI_Buffer_detach");
    CHECK_ERROR(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, &n), MPI_ERR_BUFFER, "MPI_Comm_detach_buffer");
    OK(MPI_Buffer_attach(room, 1000));
    CHECK_ERROR(MPI_Buffer_detach(NULL, &n), MPI_ERR_ARG, "MPI_Buffer_detach");
    CHECK_ERROR(MPI_Buffer_detach(&got, NULL), MPI_ERR_ARG, "MPI_Buffer_detach");
    CHECK_ERROR(MPI_Buffer_detach_c(NULL, &c), MPI_ERR_ARG, "MPI_Buffer_detach");
    CHECK_ERROR(MPI_Buffer_detach_c(&got, NULL), MPI_ERR_ARG, "MPI_Buffer_detach");
    CHECK_ERROR(MPI_Buffer_iflush(NULL), MPI_ERR_ARG, "MPI_Buffer_iflush");
    OK(MPI_Buffer_detach(&got, &n));
    OK(MPI_Comm_attach_buffer(MPI_COMM_WORLD, room, 1000));
    CHECK_ERROR(MPI_Comm_detach_buffer(none, &got, &n), MPI_ERR_COMM, "MPI_Comm_detach_buffer");
    CHECK_ERROR(MPI_Comm_detach_buffer(MPI_COMM_WORLD, NULL, &n), MPI_ERR_ARG, "MPI_Comm_detach_buffer");
    CHECK_ERROR(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, NULL), MPI_ERR_ARG, "MPI_Comm_detach_buffer");
    CHECK_ERROR(MPI_Comm_detach_buffer_c(none, &got, &c), MPI_ERR_COMM, "MPI_Comm_detach_buffer");
    CHECK_ERROR(MPI_Comm_flush_buffer(none), MPI_ERR_COMM, "MPI_Comm_flush_buffer");
    CHECK_ERROR(MPI_Comm_iflush_buffer(none, &r), MPI_ERR_COMM, "MPI_Comm_iflush_buffer");
    CHECK_ERROR(MPI_Comm_iflush_buffer(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_iflush_buffer");
    OK(MPI_Comm_detach_buffer(MPI_COMM_WORLD, &got, &n));
    CHECK(got == room);
    CHECK_ERROR(MPI_Session_attach_buffer(MPI_SESSION_NULL, room, 1000), MPI_ERR_SESSION, "MPI_Session_attach_buffer");
    CHECK_ERROR(MPI_Session_attach_buffer_c(MPI_SESSION_NULL, room, 1000), MPI_ERR_SESSION, "MPI_Session_attach_buffer");
    CHECK_ERROR(MPI_Session_detach_buffer(MPI_SESSION_NULL, &got, &n), MPI_ERR_SESSION, "MPI_Session_detach_buffer");
    CHECK_ERROR(MPI_Session_detach_buffer_c(MPI_SESSION_NULL, &got, &c), MPI_ERR_SESSION, "MPI_Session_detach_buffer");
    CHECK_ERROR(MPI_Session_flush_buffer(MPI_SESSION_NULL), MPI_ERR_SESSION, "MPI_Session_flush_buffer");
    CHECK_ERROR(MPI_Session_iflush_buffer(MPI_SESSION_NULL, &r), MPI_ERR_SESSION, "MPI_Session_iflush_buffer");
    CHECK(r == MPI_REQUEST_NULL);
    return finish();
}
