// ranks: 1 2 5
// no-check: requests share a buffer
// How many objects there are, whether ranks share memory for their collective operations, and how much of it; before MPI and after
// it there is nothing.
#include "tool.h"

static MPI_T_pvar_session session;
static const char *const kinds[] = {"oxmpi_communicators", "oxmpi_groups",  "oxmpi_datatypes",    "oxmpi_operations",
                                    "oxmpi_requests",      "oxmpi_windows", "oxmpi_files",        "oxmpi_info_objects",
                                    "oxmpi_sessions"};
enum { COMM, GROUP, TYPE, OP, REQUEST, WINDOW, FILES, INFO, SESSION, KINDS };
static MPI_T_pvar_handle handles[KINDS];
static unsigned long long expected[KINDS];

static void check_counts(int line) {
    for (int i = 0; i < KINDS; i++) {
        unsigned long long found = number(session, handles[i]);
        if (found != expected[i]) CHECK_FAIL("line %d: %s is %llu, not %llu", line, kinds[i], found, expected[i]);
    }
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void objects(void) {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request requests[3];
    MPI_Win win;
    MPI_Info info;
    MPI_Session own;
    MPI_File file;
    int memory[4], value = 0;
    check_counts(__LINE__);
    for (int turn = 0; turn < 3; turn++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm), expected[COMM]++;
        check_counts(__LINE__);
        MPI_Comm_group(comm, &group), expected[GROUP]++;
        MPI_Type_contiguous(3, MPI_INT, &type), expected[TYPE]++;
        MPI_Op_create(add, 1, &op), expected[OP]++;
        MPI_Info_create(&info), expected[INFO]++;
        check_counts(__LINE__);
        for (int i = 0; i < 3; i++) MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, i, comm, &requests[i]), expected[REQUEST]++;
        check_counts(__LINE__);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &own), expected[SESSION]++;
        check_counts(__LINE__);
        unsigned long long comms = number(session, handles[COMM]);
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), expected[WINDOW]++;
        CHECK_EQ(number(session, handles[WINDOW]), expected[WINDOW]);
        MPI_Win_free(&win), expected[WINDOW]--;
        MPI_File_open(MPI_COMM_WORLD, "file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
        expected[FILES]++;
        CHECK_EQ(number(session, handles[FILES]), expected[FILES]);
        MPI_File_close(&file), expected[FILES]--;
        CHECK_EQ(number(session, handles[COMM]), comms);
        check_counts(__LINE__);
        for (int i = 0; i < 3; i++) {
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE), expected[REQUEST]--;
        }
        MPI_Session_finalize(&own), expected[SESSION]--;
        MPI_Info_free(&info), expected[INFO]--;
        MPI_Op_free(&op), expected[OP]--;
        MPI_Type_free(&type), expected[TYPE]--;
        MPI_Group_free(&group), expected[GROUP]--;
        check_counts(__LINE__);
        MPI_Comm_free(&comm), expected[COMM]--;
        check_counts(__LINE__);
    }
}

// Among the ranks of a host.
static void boards(void) {
    MPI_T_pvar_handle boards = level(session, "oxmpi_boards"), shared = level(session, "oxmpi_shared_memory"),
                      areas = level(session, "oxmpi_shared_areas");
    MPI_Comm near, comm;
    int ranks, own;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &ranks);
    MPI_Comm_rank(near, &own);
    MPI_Comm_dup(near, &comm);
    MPI_T_pvar_handle board = pvar(session, "oxmpi_board", MPI_T_PVAR_CLASS_STATE, comm);
    unsigned long long before = number(session, boards), area = number(session, areas);
    CHECK_EQ(state(session, board), 0); // none yet
    for (int i = 0; i < 10; i++) MPI_Barrier(comm);
    CHECK_EQ(state(session, board) == 1, ranks > 1);
    CHECK_EQ(number(session, boards), before + (ranks > 1));
    CHECK_EQ(number(session, areas) > area, ranks > 1 && own == 0); // the first rank provides it
    MPI_Comm_free(&comm);
    CHECK_EQ(number(session, boards), before);
    // A persistent operation has a board of its own.
    MPI_Request request;
    MPI_Barrier_init(near, MPI_INFO_NULL, &request);
    CHECK_EQ(number(session, boards), before + (ranks > 1));
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    CHECK_EQ(number(session, boards), before);
    MPI_Barrier(MPI_COMM_WORLD);

    // Shared memory is in use after a write to it.
    const MPI_Aint bytes = 8 << 20;
    char *memory = NULL;
    MPI_Win win;
    unsigned long long memory_before = number(session, shared);
    CHECK(memory_before > 0);
    area = number(session, areas);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_allocate(own == 0 ? bytes : 0, 1, MPI_INFO_NULL, near, &memory, &win);
    if (own == 0) {
        CHECK(number(session, areas) >= area + (unsigned long long)bytes);
        memset(memory, 1, (size_t)bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(number(session, shared) >= memory_before + (unsigned long long)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (own == 0) CHECK(number(session, areas) < area + (unsigned long long)bytes);
    CHECK(number(session, shared) < memory_before + (unsigned long long)bytes);
    MPI_Comm_free(&near);
}

static void job(int up) {
    MPI_T_pvar_handle awake = level(session, "oxmpi_awake_ranks"), cpus = pvar(session, "oxmpi_cpus", MPI_T_PVAR_CLASS_SIZE, MPI_COMM_NULL),
                      oversubscribed = pvar(session, "oxmpi_oversubscribed", MPI_T_PVAR_CLASS_STATE, MPI_COMM_NULL),
                      call = pvar(session, "oxmpi_call", MPI_T_PVAR_CLASS_STATE, MPI_COMM_NULL);
    unsigned long long now = number(session, awake);
    CHECK(up ? now >= 1 && now <= (unsigned long long)size : now == 0);
    CHECK_EQ(number(session, cpus) > 0, up);
    if (up && size == 1) CHECK_EQ(state(session, oversubscribed), 0);
    CHECK_EQ(state(session, call), -1); // none
}

int main(int argc, char **argv) {
    start_tool();
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    for (int i = 0; i < KINDS; i++) handles[i] = level(session, kinds[i]);
    check_counts(__LINE__);
    job(0);
    MPI_Info info; // these are there without MPI
    MPI_Info_create(&info), expected[INFO]++;
    check_counts(__LINE__);
    MPI_Info_free(&info), expected[INFO]--;
    start(&argc, &argv);
    objects();
    boards();
    job(1);
    MPI_Finalize();
    check_counts(__LINE__);
    job(0);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
