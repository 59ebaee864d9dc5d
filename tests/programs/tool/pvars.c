// ranks: 1 2
// Sessions and handles of performance variables: counters that can be started, stopped, read, written and reset in one session
// without another noticing, levels that cannot, and the code of everything that is wrong.
#include "tool.h"

static MPI_T_pvar_session one, two;

// So many calls that fail.
static void fail(int times) {
    int n;
    for (int i = 0; i < times; i++) CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM);
}

static void counters(void) {
    const int counter = MPI_T_PVAR_CLASS_COUNTER;
    const char *name = "oxmpi_failed_calls";
    unsigned long long value = 7;
    fail(3); // before there is a handle: not counted
    MPI_T_pvar_handle a = pvar(one, name, counter, MPI_COMM_NULL), b = pvar(two, name, counter, MPI_COMM_NULL),
                      c = pvar(one, name, counter, MPI_COMM_NULL);
    CHECK_EQ(number(one, a), 0);
    fail(2); // not started
    CHECK_EQ(number(one, a), 0);
    CODE(MPI_T_pvar_start(one, a), MPI_SUCCESS);
    CHECK_EQ(number(one, a), 0);
    fail(4);
    CHECK_EQ(number(one, a), 4);
    CODE(MPI_T_pvar_start(two, b), MPI_SUCCESS);
    CODE(MPI_T_pvar_start(one, a), MPI_SUCCESS); // already: nothing changes
    fail(1);
    CHECK_EQ(number(one, a), 5);
    CHECK_EQ(number(two, b), 1);
    CHECK_EQ(number(one, c), 0);
    CODE(MPI_T_pvar_stop(one, a), MPI_SUCCESS);
    fail(10);
    CHECK_EQ(number(one, a), 5);
    CHECK_EQ(number(two, b), 11);
    CODE(MPI_T_pvar_stop(one, a), MPI_SUCCESS);
    CHECK_EQ(number(one, a), 5);
    CODE(MPI_T_pvar_start(one, a), MPI_SUCCESS); // goes on where it stopped
    fail(2);
    CHECK_EQ(number(one, a), 7);
    CODE(MPI_T_pvar_reset(two, b), MPI_SUCCESS); // still running
    CHECK_EQ(number(one, a), 7);
    CHECK_EQ(number(two, b), 0);
    fail(1);
    CHECK_EQ(number(two, b), 1);
    CODE(MPI_T_pvar_readreset(one, a, &value), MPI_SUCCESS);
    CHECK_EQ(value, 8);
    CHECK_EQ(number(one, a), 0);
    fail(1);
    CHECK_EQ(number(one, a), 1);
    value = 100;
    CODE(MPI_T_pvar_write(one, a, &value), MPI_SUCCESS);
    CHECK_EQ(number(one, a), 100);
    fail(1);
    CHECK_EQ(number(one, a), 101);
    CHECK_EQ(number(two, b), 3);
    CODE(MPI_T_pvar_stop(one, a), MPI_SUCCESS);
    CODE(MPI_T_pvar_readreset(one, a, &value), MPI_SUCCESS); // stopped, and so it stays
    CHECK_EQ(value, 101);
    fail(1);
    CHECK_EQ(number(one, a), 0);

    // All of a session at once; that there is a level among them does not matter.
    MPI_T_pvar_handle level_of_one = level(one, "oxmpi_info_objects");
    CODE(MPI_T_pvar_reset(one, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CODE(MPI_T_pvar_start(one, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    fail(3);
    CODE(MPI_T_pvar_start(one, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    fail(3);
    CHECK_EQ(number(one, a), 6);
    CHECK_EQ(number(one, c), 6);
    CHECK_EQ(number(two, b), 10);
    CODE(MPI_T_pvar_stop(one, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    fail(1);
    CHECK_EQ(number(one, a), 6);
    CHECK_EQ(number(two, b), 11);
    CODE(MPI_T_pvar_reset(one, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_EQ(number(one, a), 0);
    CHECK_EQ(number(one, c), 0);
    CHECK_EQ(number(two, b), 11);

    // The handle of another session, of none, of a level.
    CODE(MPI_T_pvar_read(two, a, &value), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_start(two, a), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_stop(two, a), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_reset(two, a), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_write(two, a, &value), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_readreset(two, a, &value), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_handle_free(two, &a), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_start(one, level_of_one), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CODE(MPI_T_pvar_stop(one, level_of_one), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CODE(MPI_T_pvar_reset(one, level_of_one), MPI_T_ERR_PVAR_NO_WRITE);
    CODE(MPI_T_pvar_write(one, level_of_one, &value), MPI_T_ERR_PVAR_NO_WRITE);
    CODE(MPI_T_pvar_readreset(one, level_of_one, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    CODE(MPI_T_pvar_read(one, level_of_one, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_read(one, a, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_write(one, a, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_readreset(one, a, NULL), MPI_T_ERR_INVALID);
    // All handles only where the standard has it.
    CODE(MPI_T_pvar_read(one, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_write(one, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_pvar_readreset(one, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);

    CODE(MPI_T_pvar_handle_free(one, &a), MPI_SUCCESS);
    CHECK(a == MPI_T_PVAR_HANDLE_NULL);
    CHECK_EQ(number(one, c), 0);
    CHECK_EQ(number(two, b), 11);
    CODE(MPI_T_pvar_handle_free(one, &c), MPI_SUCCESS);
    CODE(MPI_T_pvar_handle_free(one, &level_of_one), MPI_SUCCESS);
    CODE(MPI_T_pvar_handle_free(two, &b), MPI_SUCCESS);
    CODE(MPI_T_pvar_start(one, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS); // none at all is fine
    CODE(MPI_T_pvar_reset(one, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
}

static void timers(void) {
    MPI_T_pvar_handle timer = pvar(one, "oxmpi_time_asleep", MPI_T_PVAR_CLASS_TIMER, MPI_COMM_NULL);
    double seconds = 2.5;
    CODE(MPI_T_pvar_write(one, timer, &seconds), MPI_SUCCESS);
    seconds = 0;
    CODE(MPI_T_pvar_read(one, timer, &seconds), MPI_SUCCESS);
    CHECK(seconds > 2.499999 && seconds < 2.500001);
    seconds = -1;
    CODE(MPI_T_pvar_write(one, timer, &seconds), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_readreset(one, timer, &seconds), MPI_SUCCESS);
    CHECK(seconds > 2.499999 && seconds < 2.500001);
    CODE(MPI_T_pvar_read(one, timer, &seconds), MPI_SUCCESS);
    CHECK(seconds == 0);
    CODE(MPI_T_pvar_handle_free(one, &timer), MPI_SUCCESS);
}

static void bad_handles(void) {
    MPI_T_pvar_handle good = pvar(one, "oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_NULL);
    MPI_T_pvar_session gone, kept;
    unsigned long long value;
    int count, n;
    MPI_T_pvar_get_num(&n);
    CODE(MPI_T_pvar_session_create(&gone), MPI_SUCCESS);
    kept = gone;
    MPI_T_pvar_handle of_gone = pvar(gone, "oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_NULL);
    CODE(MPI_T_pvar_session_free(&gone), MPI_SUCCESS);
    const MPI_T_pvar_session sessions[] = {MPI_T_PVAR_SESSION_NULL, kept, (MPI_T_pvar_session)good,
                                           (MPI_T_pvar_session)-1, (MPI_T_pvar_session)(uintptr_t)&value};
    for (int i = 0; i < 5; i++) {
        MPI_T_pvar_session copy = sessions[i];
        MPI_T_pvar_handle handle = i == 1 ? of_gone : good;
        const int bad = MPI_T_ERR_INVALID_SESSION;
        CODE(MPI_T_pvar_session_free(&copy), bad);
        CODE(MPI_T_pvar_handle_alloc(sessions[i], 0, NULL, &handle, &count), bad);
        CODE(MPI_T_pvar_handle_free(sessions[i], &handle), bad);
        CODE(MPI_T_pvar_start(sessions[i], handle), bad);
        CODE(MPI_T_pvar_stop(sessions[i], handle), bad);
        CODE(MPI_T_pvar_read(sessions[i], handle, &value), bad);
        CODE(MPI_T_pvar_write(sessions[i], handle, &value), bad);
        CODE(MPI_T_pvar_reset(sessions[i], handle), bad);
        CODE(MPI_T_pvar_readreset(sessions[i], handle, &value), bad);
        CODE(MPI_T_pvar_start(sessions[i], MPI_T_PVAR_ALL_HANDLES), bad);
        CODE(MPI_T_pvar_stop(sessions[i], MPI_T_PVAR_ALL_HANDLES), bad);
        CODE(MPI_T_pvar_reset(sessions[i], MPI_T_PVAR_ALL_HANDLES), bad);
    }
    const MPI_T_pvar_handle handles[] = {MPI_T_PVAR_HANDLE_NULL, of_gone, (MPI_T_pvar_handle)one, (MPI_T_pvar_handle)-1,
                                         (MPI_T_pvar_handle)(uintptr_t)&value};
    for (int i = 0; i < 5; i++) {
        MPI_T_pvar_handle copy = handles[i];
        const int bad = MPI_T_ERR_INVALID_HANDLE;
        CODE(MPI_T_pvar_handle_free(one, &copy), bad);
        CODE(MPI_T_pvar_start(one, copy), bad);
        CODE(MPI_T_pvar_stop(one, copy), bad);
        CODE(MPI_T_pvar_read(one, copy, &value), bad);
        CODE(MPI_T_pvar_write(one, copy, &value), bad);
        CODE(MPI_T_pvar_reset(one, copy), bad);
        CODE(MPI_T_pvar_readreset(one, copy, &value), bad);
    }
    const int indices[] = {-1, n, INT_MAX, INT_MIN};
    MPI_T_pvar_handle handle;
    for (int i = 0; i < 4; i++)
        CODE(MPI_T_pvar_handle_alloc(one, indices[i], NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    int index = pvar_index("oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER);
    CODE(MPI_T_pvar_handle_alloc(one, index, NULL, NULL, &count), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_handle_alloc(one, index, NULL, &handle, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_session_create(NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_session_free(NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_handle_free(one, NULL), MPI_T_ERR_INVALID);

    // A variable that is bound to a communicator wants one.
    MPI_Comm comm = MPI_COMM_NULL;
    index = pvar_index("oxmpi_unexpected_messages_on_comm", MPI_T_PVAR_CLASS_LEVEL);
    CODE(MPI_T_pvar_handle_alloc(one, index, NULL, &handle, &count), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_handle_alloc(one, index, &comm, &handle, &count), MPI_T_ERR_INVALID);
    comm = (MPI_Comm)MPI_INT;
    CODE(MPI_T_pvar_handle_alloc(one, index, &comm, &handle, &count), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_handle_free(one, &good), MPI_SUCCESS);
}

// A handle on a communicator that is freed is bad from then on, and only it.
static void freed_comm(void) {
    MPI_Comm comm, kept;
    unsigned long long value = 7;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    kept = comm;
    MPI_T_pvar_handle handle = pvar(one, "oxmpi_unexpected_messages_on_comm", MPI_T_PVAR_CLASS_LEVEL, comm),
                      world = pvar(one, "oxmpi_unexpected_messages_on_comm", MPI_T_PVAR_CLASS_LEVEL, MPI_COMM_WORLD);
    CHECK_EQ(number(one, handle), 0);
    MPI_Comm_free(&comm);
    CODE(MPI_T_pvar_read(one, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(value, 7);
    CHECK_EQ(number(one, world), 0);
    int count, index = pvar_index("oxmpi_unexpected_messages_on_comm", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle late;
    CODE(MPI_T_pvar_handle_alloc(one, index, &kept, &late, &count), MPI_T_ERR_INVALID);
    CODE(MPI_T_pvar_handle_free(one, &handle), MPI_SUCCESS);
    CODE(MPI_T_pvar_handle_free(one, &world), MPI_SUCCESS);
}

int main(int argc, char **argv) {
    start_tool();
    CODE(MPI_T_pvar_session_create(&one), MPI_SUCCESS);
    CODE(MPI_T_pvar_session_create(&two), MPI_SUCCESS);
    CHECK(one != two);
    // Without MPI: no communicators, nothing in the queues.
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_T_pvar_handle early = level(one, "oxmpi_unexpected_messages"), handle;
    int count, bound = pvar_index("oxmpi_unexpected_messages_on_comm", MPI_T_PVAR_CLASS_LEVEL);
    CHECK_EQ(number(one, early), 0);
    CODE(MPI_T_pvar_handle_alloc(one, bound, &comm, &handle, &count), MPI_T_ERR_INVALID);
    bad_handles();

    start(&argc, &argv);
    return_errors();
    CHECK_EQ(number(one, early), 0);
    counters();
    timers();
    bad_handles();
    freed_comm();
    handle = pvar(one, "oxmpi_unexpected_messages_on_comm", MPI_T_PVAR_CLASS_LEVEL, MPI_COMM_WORLD);
    MPI_Finalize();

    unsigned long long value;
    CODE(MPI_T_pvar_read(one, handle, &value), MPI_T_ERR_INVALID_HANDLE); // there is no world any more
    CHECK_EQ(number(one, early), 0);
    timers();
    bad_handles();
    CODE(MPI_T_pvar_session_free(&one), MPI_SUCCESS);
    CODE(MPI_T_pvar_session_free(&two), MPI_SUCCESS);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
