// ranks: 1 2 3 4 7 8
// Error handlers of all four kinds of object: made, attached to the right kind only, called, kept alive by what
// they are attached to; the default handler of files; the removed names.
#include "../check.h"

static int calls, last_code;
static MPI_Session last_session;
static MPI_File last_file;

static void for_comm(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    calls++;
    last_code = *code;
}

static void for_session(MPI_Session *session, int *code, ...) {
    calls++;
    last_code = *code;
    last_session = *session;
    // MPI may be called from a handler.
    MPI_Info info;
    OK(MPI_Session_get_info(*session, &info));
    OK(MPI_Info_free(&info));
}

static void for_file(MPI_File *file, int *code, ...) {
    calls++;
    last_code = *code;
    last_file = *file;
}

static void for_window(MPI_Win *win, int *code, ...) {
    (void)win;
    calls++;
    last_code = *code;
}

static void kinds(void) {
    MPI_Errhandler comm, session, file, window, null = MPI_ERRHANDLER_NULL, freed;
    OK(MPI_Comm_create_errhandler(for_comm, &comm));
    OK(MPI_Session_create_errhandler(for_session, &session));
    OK(MPI_File_create_errhandler(for_file, &file));
    OK(MPI_Win_create_errhandler(for_window, &window));
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, session), MPI_ERR_ERRHANDLER, "sessions");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, file), MPI_ERR_ERRHANDLER, "files");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, window), MPI_ERR_ERRHANDLER, "windows");
    CHECK_ERROR(MPI_File_set_errhandler(MPI_FILE_NULL, comm), MPI_ERR_ERRHANDLER, "communicators");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, null), MPI_ERR_ERRHANDLER, "MPI_ERRHANDLER_NULL");
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_NULL, comm), MPI_ERR_COMM, "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Errhandler_free(&null), MPI_ERR_ERRHANDLER, "MPI_Errhandler_free");
    CHECK_ERROR(MPI_Errhandler_free(NULL), MPI_ERR_ARG, "MPI_Errhandler_free");
    CHECK_ERROR(MPI_Comm_create_errhandler(NULL, &null), MPI_ERR_ARG, "MPI_Comm_create_errhandler");
    CHECK_ERROR(MPI_Comm_create_errhandler(for_comm, NULL), MPI_ERR_ARG, "errhandler");
    CHECK_ERROR(MPI_Win_set_errhandler(MPI_WIN_NULL, window), MPI_ERR_WIN, "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Win_get_errhandler(MPI_WIN_NULL, &null), MPI_ERR_WIN, "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Win_call_errhandler(MPI_WIN_NULL, MPI_ERR_OTHER), MPI_ERR_WIN, "MPI_WIN_NULL");
    freed = comm;
    OK(MPI_Errhandler_free(&comm));
    CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, freed), MPI_ERR_ERRHANDLER, "freed");
    OK(MPI_Errhandler_free(&session));
    OK(MPI_Errhandler_free(&file));
    OK(MPI_Errhandler_free(&window));
    CHECK_EQ(calls, 0);
}

static void files(void) {
    MPI_Errhandler mine, got = MPI_ERRHANDLER_NULL;
    MPI_File wrong = (MPI_File)MPI_COMM_WORLD;
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_Errhandler_free(&got)); // allowed: it came from an object
    OK(MPI_File_create_errhandler(for_file, &mine));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&mine));
    calls = 0;
    OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE));
    CHECK_EQ(calls, 1);
    CHECK_EQ(last_code, MPI_ERR_NO_SUCH_FILE);
    CHECK(last_file == MPI_FILE_NULL);
    CHECK_ERROR(MPI_File_call_errhandler(wrong, MPI_ERR_IO), MPI_ERR_FILE, "MPI_File_call_errhandler");
    CHECK_EQ(calls, 2); // the same handler gets errors on no file
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_File_get_errhandler(wrong, &got), MPI_ERR_FILE, "MPI_File_get_errhandler");
    CHECK_EQ(calls, 2);
}

static void sessions(void) {
    MPI_Session session, wrong = MPI_SESSION_NULL;
    MPI_Errhandler mine, got = MPI_ERRHANDLER_NULL;
    char name[32];
    int length = sizeof name;
    OK(MPI_Session_create_errhandler(for_session, &mine));
    OK(MPI_Session_init(MPI_INFO_NULL, mine, &session));
    OK(MPI_Session_get_errhandler(session, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&mine));
    calls = 0;
    CHECK_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 77, &length, name), MPI_ERR_ARG, "77");
    CHECK_EQ(calls, 1);
    CHECK_CLASS(last_code, MPI_ERR_ARG);
    CHECK(last_session == session);
    OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
    CHECK_EQ(calls, 2);
    CHECK_EQ(last_code, MPI_ERR_OTHER);
    OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
    OK(MPI_Session_get_errhandler(session, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 77, &length, name), MPI_ERR_ARG);
    CHECK_EQ(calls, 2);
    CHECK_ERROR(MPI_Session_set_errhandler(wrong, MPI_ERRORS_RETURN), MPI_ERR_SESSION, "MPI_SESSION_NULL");
    CHECK_ERROR(MPI_Session_call_errhandler(wrong, MPI_ERR_OTHER), MPI_ERR_SESSION, "MPI_SESSION_NULL");
    OK(MPI_Session_finalize(&session));
}

// MPI-1's names, which old programs call.
static void removed(void) {
    MPI_Errhandler mine, got, before;
    int value = 0;
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &before));
    OK(MPI_Errhandler_create(for_comm, &mine));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, mine));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &got));
    CHECK(got == mine);
    calls = 0;
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_EQ(calls, 1);
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, before));
    OK(MPI_Errhandler_free(&mine));
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Errhandler_free(&before));
}

int main(int argc, char **argv) {
    MPI_Errhandler early;
    OK(MPI_Session_create_errhandler(for_session, &early)); // before MPI_Init
    OK(MPI_Errhandler_free(&early));
    CHECK(early == MPI_ERRHANDLER_NULL);
    start(&argc, &argv);
    return_errors();
    kinds();
    files();
    sessions();
    removed();
    MPI_Finalize();
    OK(MPI_Session_create_errhandler(for_session, &early));
    OK(MPI_Errhandler_free(&early));
    return 0;
}
