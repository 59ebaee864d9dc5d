// ranks: 1 2 3 4 7 8
// Sessions before the world, beside it and after it, several at a time and again and again; what they tell of the
// job; mistakes.
#include "../check.h"

static char *get(MPI_Info info, const char *key) {
    static char value[128];
    int found = -1, length = sizeof value;
    OK(MPI_Info_get_string(info, key, &length, value, &found));
    if (!found) CHECK_FAIL("there is no %s", key);
    return value;
}

static void psets(MPI_Session session, int world_size) {
    int n = -1, world = 0, self = 0;
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    CHECK(n >= 2);
    for (int i = 0; i < n; i++) {
        char name[MPI_MAX_PSET_NAME_LEN], cut[5];
        int needed = 0, length = sizeof cut;
        MPI_Info info;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &needed, NULL));
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, cut));
        CHECK_EQ(length, needed);
        CHECK(!strcmp(cut, "mpi:") || !strcmp(cut, "app:"));
        length = sizeof name;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
        CHECK_EQ(length, needed);
        CHECK_EQ(strlen(name) + 1, needed);
        OK(MPI_Session_get_pset_info(session, name, &info));
        int members = atoi(get(info, "mpi_size"));
        if (!strcmp(name, "mpi://WORLD")) {
            world++;
            CHECK_EQ(members, world_size);
        } else if (!strcmp(name, "mpi://SELF")) {
            self++;
            CHECK_EQ(members, 1);
        }
        OK(MPI_Info_free(&info));
    }
    CHECK(world == 1 && self == 1);
}

static MPI_Session open_session(const char *level) {
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info info = MPI_INFO_NULL, used = MPI_INFO_NULL;
    if (level) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "thread_level", level));
        OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,mpi:alloc_mem,unheard:of"));
    }
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK(session != MPI_SESSION_NULL);
    if (level) OK(MPI_Info_free(&info));
    OK(MPI_Session_get_info(session, &used));
    char *got = get(used, "thread_level");
    if (level) CHECK(!strcmp(got, level));
    CHECK(!strncmp(got, "MPI_THREAD_", 11));
    char *kinds = get(used, "mpi_memory_alloc_kinds");
    CHECK(strstr(kinds, "mpi") && strstr(kinds, "system") && !strstr(kinds, "unheard"));
    if (level) CHECK(strstr(kinds, "mpi:alloc_mem"));
    OK(MPI_Info_free(&used));
    return session;
}

static void close_session(MPI_Session *session) {
    OK(MPI_Session_finalize(session));
    CHECK(*session == MPI_SESSION_NULL);
}

// With a session open and no world: datatypes work, MPI_COMM_WORLD does not.
static void without_world(MPI_Session session) {
    MPI_Datatype pair;
    MPI_Count size_of_pair = -1;
    int n = -1;
    char room[1000];
    void *back = NULL;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_size_c(pair, &size_of_pair));
    CHECK_EQ(size_of_pair, 2 * sizeof(int));
    OK(MPI_Type_free(&pair));
    OK(MPI_Session_attach_buffer(session, room, sizeof room));
    CHECK_ERROR(MPI_Session_attach_buffer(session, room, sizeof room), MPI_ERR_BUFFER, "MPI_Session_attach_buffer");
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Session_detach_buffer(session, &back, &n));
    CHECK(back == room);
    CHECK_EQ(n, sizeof room);
}

static void mistakes(void) {
    MPI_Session session = open_session(NULL), closed = session, null = MPI_SESSION_NULL;
    MPI_Info info = MPI_INFO_NULL;
    char name[32];
    int n = 0, length = -1;
    CHECK_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &n, name), MPI_ERR_ARG, "-1");
    CHECK_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name), MPI_ERR_ARG, "pset_len");
    CHECK_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, NULL, name), MPI_ERR_ARG, "pset_len");
    CHECK_ERROR(MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info), MPI_ERR_ARG, "mpi://NOWHERE");
    CHECK_ERROR(MPI_Session_get_pset_info(session, NULL, &info), MPI_ERR_ARG, "pset_name");
    CHECK_ERROR(MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "npset_names");
    CHECK_ERROR(MPI_Session_get_info(session, NULL), MPI_ERR_ARG, "info_used");
    close_session(&session);
    CHECK_ERROR(MPI_Session_get_num_psets(closed, MPI_INFO_NULL, &n), MPI_ERR_SESSION, "freed");
    CHECK_ERROR(MPI_Session_finalize(&closed), MPI_ERR_SESSION, "MPI_Session_finalize");
    CHECK_ERROR(MPI_Session_finalize(&null), MPI_ERR_SESSION, "MPI_SESSION_NULL");
    CHECK_ERROR(MPI_Session_finalize(NULL), MPI_ERR_ARG, "session");
    CHECK_ERROR(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), MPI_ERR_ARG, "session");
    CHECK_ERROR(MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &null), MPI_ERR_ERRHANDLER, "MPI_Session_init");
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_SOME"));
    CHECK_ERROR(MPI_Session_init(info, MPI_ERRORS_RETURN, &null), MPI_ERR_INFO_VALUE, "MPI_THREAD_SOME");
    CHECK(null == MPI_SESSION_NULL);
    OK(MPI_Info_free(&info));
}

static void exchange(void) {
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(got, (rank + size - 1) % size);
}

int main(int argc, char **argv) {
    int flag = -1, world_size = getenv("OXMPI_SIZE") ? atoi(getenv("OXMPI_SIZE")) : 1;
    // Before the world, again and again.
    for (int round = 0; round < 5; round++) {
        MPI_Session session = open_session(round % 2 ? "MPI_THREAD_SERIALIZED" : NULL);
        psets(session, world_size);
        without_world(session);
        MPI_Initialized(&flag);
        CHECK_EQ(flag, 0);
        close_session(&session);
    }
    // Across the beginning and the end of the world.
    MPI_Session across = open_session("MPI_THREAD_MULTIPLE");
    start(&argc, &argv);
    return_errors();
    exchange();
    psets(across, size);
    close_session(&across);
    exchange(); // the world stays
    MPI_Session several[10];
    for (int i = 0; i < 10; i++) several[i] = open_session("MPI_THREAD_FUNNELED");
    for (int i = 0; i < 10; i++) psets(several[i], size);
    for (int i = 0; i < 10; i++) close_session(&several[(i * 7) % 10]);
    mistakes();
    exchange();
    across = open_session(NULL);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK_EQ(flag, 1);
    psets(across, world_size);
    without_world(across);
    close_session(&across);
    // And after it.
    for (int round = 0; round < 3; round++) {
        MPI_Session session = open_session(NULL), other = open_session(NULL);
        psets(session, world_size);
        close_session(&session);
        without_world(other);
        close_session(&other);
    }
    return 0;
}
