// ranks: 1 2
// MPIX_Comm_create_errhandler_x and its kin for windows, files and sessions: the function gets handle, code and extra state, and
// the destructor gets the state once, when the handler has no handle and is attached to nothing.
#include "../check.h"

struct state {
    uintptr_t object;
    int class, calls, destroyed;
};

static void note(uintptr_t object, int code, void *extra)
{
    struct state *state = extra;
    state->object = object;
    MPI_Error_class(code, &state->class);
    state->calls++;
    CHECK_EQ(state->destroyed, 0);
}

static void on_comm(MPI_Comm comm, int code, void *extra) { note((uintptr_t)comm, code, extra); }
static void on_win(MPI_Win win, int code, void *extra) { note((uintptr_t)win, code, extra); }
static void on_file(MPI_File file, int code, void *extra) { note((uintptr_t)file, code, extra); }
static void on_session(MPI_Session session, int code, void *extra) { note((uintptr_t)session, code, extra); }
static void destroy(void *extra) { ((struct state *)extra)->destroyed++; }

// The handler takes itself away; its state lives until it returns.
static void once(MPI_Comm comm, int code, void *extra)
{
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    note((uintptr_t)comm, code, extra);
}

#define CHECK_KIND(Type, function, handle, bad_call)                        \
    do {                                                                    \
        struct state state = {0, 0, 0, 0};                                  \
        MPI_Errhandler handler, got;                                        \
        PREFIX(Type)(function, destroy, &state, &handler);                  \
        Type##_set_errhandler(handle, handler);                             \
        MPI_Errhandler_free(&handler);                                      \
        Type##_call_errhandler(handle, MPI_ERR_KEYVAL);                     \
        CHECK_EQ(state.calls, 1);                                           \
        CHECK_EQ(state.object == (uintptr_t)handle, 1);                     \
        CHECK_EQ(state.class, MPI_ERR_KEYVAL);                              \
        CHECK_EQ((bad_call) == MPI_SUCCESS, 0);                             \
        CHECK_EQ(state.calls, 2);                                           \
        Type##_get_errhandler(handle, &got);                                \
        Type##_set_errhandler(handle, MPI_ERRORS_RETURN);                   \
        CHECK_EQ(state.destroyed, 0);                                       \
        MPI_Errhandler_free(&got);                                          \
        CHECK_EQ(state.destroyed, 1);                                       \
    } while (0)
#define PREFIX(Type) Type##_create_x
#define MPI_Comm_create_x MPIX_Comm_create_errhandler_x
#define MPI_Win_create_x MPIX_Win_create_errhandler_x
#define MPI_File_create_x MPIX_File_create_errhandler_x
#define MPI_Session_create_x MPIX_Session_create_errhandler_x

int main(int argc, char **argv)
{
    int memory = 0;
    MPI_Comm comm, copy;
    MPI_Win win;
    MPI_File file;
    MPI_Session session;
    MPI_Errhandler handler;
    struct state state = {0, 0, 0, 0};
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_File_open(MPI_COMM_WORLD, "handlers.file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);

    CHECK_KIND(MPI_Comm, on_comm, comm, MPI_Send(&memory, 1, MPI_INT, 99, 0, comm));
    CHECK_KIND(MPI_Win, on_win, win, MPI_Win_lock(MPI_LOCK_SHARED, 99, 0, win));
    CHECK_KIND(MPI_File, on_file, file, MPI_File_seek(file, -1, MPI_SEEK_SET));
    CHECK_KIND(MPI_Session, on_session, session, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &memory, NULL));

    // A copy of a communicator has the handler, too; it ends with the last of them.
    MPIX_Comm_create_errhandler_x(on_comm, destroy, &state, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK_EQ(state.destroyed, 0);
    MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
    CHECK_EQ(state.object == (uintptr_t)copy, 1);
    MPI_Comm_free(&copy);
    CHECK_EQ(state.destroyed, 1);

    struct state own = {0, 0, 0, 0};
    MPIX_Comm_create_errhandler_x(once, destroy, &own, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    for (int i = 0; i < 2; i++) MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    CHECK_EQ(own.calls, 1);
    MPI_Comm_free(&comm);
    CHECK_EQ(own.destroyed, 1);

    MPI_Session_finalize(&session);
    MPI_File_close(&file);
    MPI_Win_free(&win);
    return finish();
}
