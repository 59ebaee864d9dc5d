// ranks: 1 2
// A session's buffer: attached, flushed and detached by itself, used by communicators that come from the session and have
// none of their own. Where communicators cannot be made from groups yet the part that needs one is left out.
#include "../check.h"

enum { N = 50000 };

static MPI_Session session;
static char *room;

// What needs no communicator.
static void by_itself(void) {
    void *got = NULL;
    int n = -1;
    MPI_Count c = -1;
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK_ERROR(MPI_Session_detach_buffer(session, &got, &n), MPI_ERR_BUFFER, "MPI_Session_detach_buffer");
    CHECK_ERROR(MPI_Session_flush_buffer(session), MPI_ERR_BUFFER, "MPI_Session_flush_buffer");
    CHECK_ERROR(MPI_Session_iflush_buffer(session, &r), MPI_ERR_BUFFER, "MPI_Session_iflush_buffer");
    CHECK_ERROR(MPI_Session_attach_buffer(session, room, -1), MPI_ERR_ARG, "MPI_Session_attach_buffer");
    CHECK_ERROR(MPI_Session_attach_buffer(session, NULL, 100), MPI_ERR_BUFFER, "MPI_Session_attach_buffer");
    OK(MPI_Session_attach_buffer(session, room, N));
    CHECK_ERROR(MPI_Session_attach_buffer(session, room, N), MPI_ERR_BUFFER, "MPI_Session_attach_buffer");
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Session_iflush_buffer(session, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Session_detach_buffer(session, NULL, &n), MPI_ERR_ARG, "MPI_Session_detach_buffer");
    CHECK_ERROR(MPI_Session_detach_buffer(session, &got, NULL), MPI_ERR_ARG, "MPI_Session_detach_buffer");
    OK(MPI_Session_detach_buffer(session, &got, &n));
    CHECK(got == room);
    CHECK_EQ(n, N);
    OK(MPI_Session_attach_buffer_c(session, MPI_BUFFER_AUTOMATIC, 0));
    OK(MPI_Session_detach_buffer_c(session, &got, &c));
    CHECK(got == MPI_BUFFER_AUTOMATIC);
}

static void with_communicator(MPI_Comm comm) {
    char *out = get_memory(N), *in = get_memory(N), small[100];
    void *got = NULL;
    int n = -1, flag = -1;
    MPI_Request r;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fill(out, N, rank);
    CHECK_CLASS(MPI_Bsend(out, N, MPI_BYTE, right, 1, comm), MPI_ERR_BUFFER);
    OK(MPI_Session_attach_buffer(session, room, N + MPI_BSEND_OVERHEAD));
    for (int round = 0; round < 5; round++) {
        OK(MPI_Bsend(out, N, MPI_BYTE, right, 1, comm));
        OK(MPI_Session_iflush_buffer(session, &r));
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        OK(MPI_Recv(in, N, MPI_BYTE, left, 1, comm, MPI_STATUS_IGNORE));
        CHECK_PATTERN(in, N, left);
        OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        OK(MPI_Session_flush_buffer(session));
    }
    // The communicator's own buffer goes first, also when it is too small.
    OK(MPI_Comm_attach_buffer(comm, small, 100));
    CHECK_CLASS(MPI_Bsend(out, N, MPI_BYTE, right, 1, comm), MPI_ERR_BUFFER);
    OK(MPI_Comm_detach_buffer(comm, &got, &n));
    OK(MPI_Session_detach_buffer(session, &got, &n));
    CHECK(got == room);
    CHECK_EQ(n, N + MPI_BSEND_OVERHEAD);
    OK(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0));
    for (int i = 0; i < 20; i++) OK(MPI_Bsend(out, N, MPI_BYTE, right, 1, comm));
    for (int i = 0; i < 20; i++) OK(MPI_Recv(in, N, MPI_BYTE, left, 1, comm, MPI_STATUS_IGNORE));
    OK(MPI_Session_detach_buffer(session, &got, &n));
    free(out);
    free(in);
}

int main(void) {
    MPI_Group group;
    MPI_Comm comm;
    room = get_memory(N + MPI_BSEND_OVERHEAD);
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    by_itself();
    int code = MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    if (check_class(code) != MPI_ERR_UNSUPPORTED_OPERATION) {
        OK(code);
        OK(MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        with_communicator(comm);
        OK(MPI_Group_free(&group));
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Session_finalize(&session));
    free(room);
    return 0;
}
