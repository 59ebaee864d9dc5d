// ranks: 1 2
// args: world
// args: alone
// A session can ask for asynchronous progress; it is told whether it has it. The thread ends with the last session.
#include "../check.h"
#include "thread.h"

static void check_hint(MPI_Session session, const char *expected) {
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 0, length = sizeof value;
    MPI_Session_get_info(session, &info);
    MPI_Info_get_string(info, "oxmpi_async_progress", &length, value, &flag);
    CHECK(flag && !strcmp(value, expected));
    MPI_Info_free(&info);
}

static void exchange(MPI_Session session) {
    enum { LONG = 1 << 20 };
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "async/session", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    int me, all;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &all);
    char *in = get_memory(LONG), *out = get_memory(LONG);
    MPI_Request requests[2];
    fill(out, LONG, (unsigned)me);
    MPI_Irecv(in, LONG, MPI_BYTE, (me + 1) % all, 1, comm, &requests[0]);
    MPI_Isend(out, LONG, MPI_BYTE, (me + all - 1) % all, 1, comm, &requests[1]);
    sleep_ms(100);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_PATTERN(in, LONG, (unsigned)((me + 1) % all));
    free(in);
    free(out);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
}

int main(int argc, char **argv) {
    const int beside = argc > 1 && !strcmp(argv[1], "world");
    if (beside) start(&argc, &argv);
    MPI_Session plain, session;
    MPI_Info info;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &plain);
    check_hint(plain, "false");
    CHECK_EQ(helper(), 0);
    for (int i = 0; i < 2; i++) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "oxmpi_async_progress", "true");
        MPI_Info_set(info, "thread_level", i ? "MPI_THREAD_SINGLE" : "MPI_THREAD_MULTIPLE");
        MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Info_free(&info);
        check_hint(session, "true");
        CHECK(await_helper() != 0);
        exchange(session);
        MPI_Session_finalize(&session);
        // The thread serves whoever is left.
        if (i == 0) CHECK(helper() != 0);
        if (i == 0 && !beside) {
            MPI_Session_finalize(&plain);
            CHECK_EQ(helper(), 0);
        }
    }
    if (!beside) CHECK_EQ(helper(), 0);
    if (!beside) return 0;
    MPI_Session_finalize(&plain);
    int status = finish();
    CHECK_EQ(helper(), 0);
    return status;
}
