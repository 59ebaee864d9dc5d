// ranks: 1 2
// args: write
// args: keep
// env: OXMPI_EXPLAIN=1
// launch: --initial-errhandler mpi_errors_abort
// expect-stderr: oxmpi:
// Control variables have the values of the environment until a tool sets them, where and when that is possible.
#include "tool.h"

static MPI_T_cvar_handle handle_of(const char *name, int count) {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int elements = -1;
    CODE(MPI_T_cvar_handle_alloc(cvar_index(name), NULL, &handle, &elements), MPI_SUCCESS);
    if (count) CHECK_EQ(elements, count);
    return handle;
}

static int read_int(MPI_T_cvar_handle handle) {
    int value = -7;
    CODE(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    return value;
}

static unsigned long long read_size(MPI_T_cvar_handle handle) {
    unsigned long long value = 7;
    CODE(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    return value;
}

// The name that a variable's enumeration has for a value.
static void check_name(const char *variable, int value, const char *expected) {
    MPI_T_enum names = MPI_T_ENUM_NULL;
    char name[64] = "";
    int n = 0, found = 0;
    CODE(MPI_T_cvar_get_info(cvar_index(variable), NULL, NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL), MPI_SUCCESS);
    CODE(MPI_T_enum_get_info(names, &n, NULL, NULL), MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        int item = -7, length = sizeof name;
        CODE(MPI_T_enum_get_item(names, i, &item, name, &length), MPI_SUCCESS);
        if (item != value) continue;
        CHECK(!strcmp(name, expected));
        found++;
    }
    CHECK_EQ(found, 1);
}

static void bad_handles(MPI_T_cvar_handle good) {
    MPI_T_cvar_handle stale = handle_of("OXMPI_EXPLAIN", 1), copy = stale, other = good;
    int value = 0;
    CODE(MPI_T_cvar_handle_free(&copy), MPI_SUCCESS);
    CHECK(copy == MPI_T_CVAR_HANDLE_NULL);
    MPI_T_pvar_session session;
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    MPI_T_cvar_handle bad[] = {MPI_T_CVAR_HANDLE_NULL, stale, (MPI_T_cvar_handle)session, (MPI_T_cvar_handle)-1,
                               (MPI_T_cvar_handle)(uintptr_t)&value};
    for (int i = 0; i < 5; i++) {
        copy = bad[i];
        CODE(MPI_T_cvar_read(bad[i], &value), MPI_T_ERR_INVALID_HANDLE);
        CODE(MPI_T_cvar_write(bad[i], &value), MPI_T_ERR_INVALID_HANDLE);
        CODE(MPI_T_cvar_handle_free(&copy), MPI_T_ERR_INVALID_HANDLE);
        CHECK(copy == bad[i]);
    }
    CODE(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    CODE(MPI_T_cvar_handle_free(NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_cvar_read(good, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_cvar_write(good, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_cvar_handle_alloc(0, NULL, NULL, &value), MPI_T_ERR_INVALID);
    CODE(MPI_T_cvar_handle_alloc(0, NULL, &other, NULL), MPI_T_ERR_INVALID);
}

int main(int argc, char **argv) {
    const int write = argc > 1 && !strcmp(argv[1], "write"), on = 1, off = 0, neither = 2;
    const unsigned long long more = 1 << 20;
    start_tool();
    MPI_T_cvar_handle copy = handle_of("OXMPI_SINGLE_COPY", 1), explain = handle_of("OXMPI_EXPLAIN", 1),
                      handler = handle_of("OXMPI_INITIAL_ERRHANDLER", 1), kinds = handle_of("OXMPI_MEMORY_ALLOC_KINDS", 0),
                      eager = handle_of("oxmpi_eager_limit", 1), store = handle_of("oxmpi_store_limit", 1);
    bad_handles(explain);
    MPI_T_cvar_handle helped = handle_of("OXMPI_ASYNC_PROGRESS", 1);
    CHECK_EQ(read_int(helped), 0);
    CHECK_EQ(read_int(copy), 1);
    CHECK_EQ(read_int(explain), 1);
    check_name("OXMPI_EXPLAIN", 1, "on");
    check_name("OXMPI_EXPLAIN", 0, "off");
    check_name("OXMPI_INITIAL_ERRHANDLER", read_int(handler), "mpi_errors_abort");
    CHECK_EQ(read_size(eager), 0);
    CHECK(read_size(store) >= 1 << 20);
    char text[200];
    memset(text, '#', sizeof text);
    int elements = -1;
    MPI_T_cvar_handle again;
    CODE(MPI_T_cvar_handle_alloc(cvar_index("OXMPI_MEMORY_ALLOC_KINDS"), NULL, &again, &elements), MPI_SUCCESS);
    CODE(MPI_T_cvar_read(kinds, text), MPI_SUCCESS);
    CHECK(!strncmp(text, "mpi,system", 10));
    CHECK_EQ(strlen(text) + 1, elements);
    CHECK_EQ(text[elements], '#');

    memset(text, '#', sizeof text);
    CODE(MPI_T_cvar_read(handle_of("oxmpi_launcher", 0), text), MPI_SUCCESS);
    CHECK(!strcmp(text, "OxMPI's mpirun"));

    // Never: constants and read-only values.
    CODE(MPI_T_cvar_write(handler, &on), MPI_T_ERR_CVAR_SET_NEVER);
    CODE(MPI_T_cvar_write(kinds, "gpu"), MPI_T_ERR_CVAR_SET_NEVER);
    CODE(MPI_T_cvar_write(eager, &more), MPI_T_ERR_CVAR_SET_NEVER);
    CODE(MPI_T_cvar_write(store, &more), MPI_T_ERR_CVAR_SET_NEVER);
    // A thread is started or not by then; nothing else shows here.
    CODE(MPI_T_cvar_write(helped, &on), MPI_SUCCESS);
    CHECK_EQ(read_int(helped), 1);
    // Only a switch's values.
    CODE(MPI_T_cvar_write(copy, &neither), MPI_T_ERR_INVALID);
    CHECK_EQ(read_int(copy), 1);
    CODE(MPI_T_cvar_write(copy, write ? &off : &on), MPI_SUCCESS);

    start(&argc, &argv);
    CHECK_EQ(read_int(copy), !write);
    CODE(MPI_T_cvar_write(copy, &on), MPI_T_ERR_CVAR_SET_NEVER); // too late
    CHECK_EQ(read_int(copy), !write);
    // The value has an effect: one copy or none. Where the kernel forbids single copies, it is off
    // anyway.
    MPI_T_pvar_session session;
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    int copies = state(session, pvar(session, "oxmpi_single_copy", MPI_T_PVAR_CLASS_STATE, MPI_COMM_NULL));
    if (write) CHECK_EQ(copies, 0);
    static char long_message[1 << 20];
    if (rank == 0 && size > 1) {
        fill(long_message, sizeof long_message, 5);
        MPI_Send(long_message, sizeof long_message, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(long_message, sizeof long_message, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(long_message, sizeof long_message, 5);
    }
    CHECK(read_size(eager) >= 64);

    // EXPLAIN can be set at any time and takes effect: with 1 from the environment rank 0 says something on stderr.
    CODE(MPI_T_cvar_write(explain, &off), MPI_SUCCESS);
    CHECK_EQ(read_int(explain), 0);
    CODE(MPI_T_cvar_write(explain, &on), MPI_SUCCESS);
    CHECK_EQ(read_int(explain), 1);
    int value = 1, sum = 0;
    MPI_Request request;
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(sum, size);
    CODE(MPI_T_cvar_handle_free(&again), MPI_SUCCESS);
    MPI_Finalize();
    CODE(MPI_T_cvar_write(explain, &off), MPI_SUCCESS);
    CHECK_EQ(read_int(explain), 0);
    CODE(MPI_T_cvar_write(copy, &on), MPI_T_ERR_CVAR_SET_NEVER);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
