// ranks: 1 2
// A call that fails raises an event, with the data, the time, the function and the argument that
// were registered; other registrations do not get it, and a freed registration gets no more events.
// Events during a tool's callback are dropped and reported later.
#include "tool.h"

static int event, classes[100], heard, told, freed, dropped, order;
static MPI_T_event_registration registration, second;
static MPI_T_event_instance last;
static MPI_Count last_time;
static char mark[4];

static int bad_call(void) {
    int n;
    return MPI_Comm_size(MPI_COMM_NULL, &n);
}

static void hear(MPI_T_event_instance instance, MPI_T_event_registration of, MPI_T_cb_safety safety, void *data) {
    int class = -1, call = -1, both[2] = {-1, -1}, source = -1, n = -1;
    MPI_Count time = -1, now = -1;
    CHECK(of == registration || of == second);
    CHECK_EQ(safety, MPI_T_CB_REQUIRE_NONE);
    CHECK(data == &mark[of == second]);
    CODE(MPI_T_event_read(instance, 0, &class), MPI_SUCCESS);
    CODE(MPI_T_event_read(instance, 1, &call), MPI_SUCCESS);
    CODE(MPI_T_event_copy(instance, both), MPI_SUCCESS);
    CHECK_EQ(both[0], class);
    CHECK_EQ(both[1], call);
    CODE(MPI_T_event_get_source(instance, &source), MPI_SUCCESS);
    CODE(MPI_T_event_get_timestamp(instance, &time), MPI_SUCCESS);
    CODE(MPI_T_source_get_timestamp(source, &now), MPI_SUCCESS);
    CHECK(time <= now && time >= last_time);
    last_time = time;
    CODE(MPI_T_event_read(instance, 2, &n), MPI_T_ERR_INVALID_INDEX);
    CODE(MPI_T_event_read(instance, -1, &n), MPI_T_ERR_INVALID_INDEX);
    CODE(MPI_T_event_read(instance, 0, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_copy(instance, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_get_source(instance, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_get_timestamp(instance, NULL), MPI_T_ERR_INVALID);
    classes[heard++ % 100] = class;
    last = instance;
    order = order * 10 + 1;
}

static void hear_safe(MPI_T_event_instance instance, MPI_T_event_registration of, MPI_T_cb_safety safety, void *data) {
    (void)instance, (void)of, (void)safety;
    CHECK(data == &mark[2]);
    told++;
}

static void fail_inside(MPI_T_event_instance instance, MPI_T_event_registration of, MPI_T_cb_safety safety, void *data) {
    hear(instance, of, safety, data);
    if (heard < 50) CHECK_CLASS(bad_call(), MPI_ERR_COMM);
    CHECK_CLASS(bad_call(), MPI_ERR_COMM);
}

static void hear_dropped(MPI_Count count, MPI_T_event_registration of, int source, MPI_T_cb_safety safety, void *data) {
    CHECK(of == registration);
    CHECK_EQ(source, 0);
    CHECK_EQ(safety, MPI_T_CB_REQUIRE_NONE);
    CHECK(data == &mark[0]);
    dropped += (int)count;
    order = order * 10 + 2;
}

static void hear_freed(MPI_T_event_registration of, MPI_T_cb_safety safety, void *data) {
    (void)safety;
    CHECK(of == registration || of == second);
    CHECK(data == &mark[3]);
    freed++;
    order = order * 10 + 3;
}

static void free_inside(MPI_T_event_instance instance, MPI_T_event_registration of, MPI_T_cb_safety safety, void *data) {
    hear(instance, of, safety, data);
    CODE(MPI_T_event_handle_free(of, &mark[3], hear_freed), MPI_SUCCESS);
    CHECK_EQ(freed, 0); // we are still here
    CODE(MPI_T_event_handle_free(of, &mark[3], hear_freed), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_event_read(instance, 0, &classes[99]), MPI_SUCCESS);
}

// The error handler is called after the tool.
static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    order = order * 10 + 4;
}

static void allocate(MPI_T_event_registration *to) {
    CODE(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, to), MPI_SUCCESS);
}

static void listen(MPI_T_event_registration of, int safety, void *data, MPI_T_event_cb_function function) {
    CODE(MPI_T_event_register_callback(of, safety, MPI_INFO_NULL, data, function), MPI_SUCCESS);
}

static void bad_handles(void) {
    MPI_T_pvar_session session;
    MPI_Info info;
    MPI_Count time;
    int n;
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    const uintptr_t bad[] = {0, (uintptr_t)session, (uintptr_t)last, (uintptr_t)-1, (uintptr_t)&n};
    for (int i = 0; i < 5; i++) {
        const MPI_T_event_registration r = (MPI_T_event_registration)bad[i];
        const MPI_T_event_instance e = (MPI_T_event_instance)bad[i];
        const int code = MPI_T_ERR_INVALID_HANDLE;
        CODE(MPI_T_event_handle_set_info(r, MPI_INFO_NULL), code);
        CODE(MPI_T_event_handle_get_info(r, &info), code);
        CODE(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, hear), code);
        CODE(MPI_T_event_callback_set_info(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), code);
        CODE(MPI_T_event_callback_get_info(r, MPI_T_CB_REQUIRE_NONE, &info), code);
        CODE(MPI_T_event_handle_free(r, NULL, hear_freed), code);
        CODE(MPI_T_event_set_dropped_handler(r, hear_dropped), code);
        CODE(MPI_T_event_read(e, 0, &n), code);
        CODE(MPI_T_event_copy(e, &n), code);
        CODE(MPI_T_event_get_timestamp(e, &time), code);
        CODE(MPI_T_event_get_source(e, &n), code);
    }
    CODE(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
}

static void hints(void) {
    MPI_Info info, used = MPI_INFO_NULL, freed_info;
    int keys = -1;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_such_hint", "1");
    MPI_T_event_registration with;
    CODE(MPI_T_event_handle_alloc(event, NULL, info, &with), MPI_SUCCESS);
    CODE(MPI_T_event_handle_set_info(with, info), MPI_SUCCESS);
    CODE(MPI_T_event_handle_get_info(with, &used), MPI_SUCCESS);
    OK(MPI_Info_get_nkeys(used, &keys)); // what we do not know is ignored
    CHECK_EQ(keys, 0);
    OK(MPI_Info_free(&used));
    CODE(MPI_T_event_callback_get_info(with, MPI_T_CB_REQUIRE_NONE, &used), MPI_T_ERR_INVALID); // no function yet
    CODE(MPI_T_event_register_callback(with, MPI_T_CB_REQUIRE_NONE, info, &mark[0], hear), MPI_SUCCESS);
    CODE(MPI_T_event_callback_set_info(with, MPI_T_CB_REQUIRE_NONE, info), MPI_SUCCESS);
    CODE(MPI_T_event_callback_get_info(with, MPI_T_CB_REQUIRE_NONE, &used), MPI_SUCCESS);
    OK(MPI_Info_get_nkeys(used, &keys));
    CHECK_EQ(keys, 0);
    OK(MPI_Info_free(&used));
    CODE(MPI_T_event_callback_get_info(with, MPI_T_CB_REQUIRE_THREAD_SAFE, &used), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_callback_get_info(with, 7, &used), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_callback_set_info(with, -1, info), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_register_callback(with, 1, info, NULL, hear), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_handle_get_info(with, NULL), MPI_T_ERR_INVALID);
    freed_info = info;
    MPI_Info_free(&info);
    MPI_T_event_registration none;
    CODE(MPI_T_event_handle_alloc(event, NULL, freed_info, &none), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, NULL), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_handle_set_info(with, freed_info), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_register_callback(with, MPI_T_CB_REQUIRE_NONE, freed_info, NULL, hear), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_callback_set_info(with, MPI_T_CB_REQUIRE_NONE, freed_info), MPI_T_ERR_INVALID);
    CODE(MPI_T_event_handle_free(with, NULL, NULL), MPI_SUCCESS);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    start_tool();
    CODE(MPI_T_event_get_index("oxmpi_failed_call", &event), MPI_SUCCESS);
    hints();
    allocate(&registration);
    CHECK_CLASS(bad_call(), MPI_ERR_COMM); // no function yet
    listen(registration, MPI_T_CB_REQUIRE_NONE, &mark[0], hear);
    CHECK_EQ(heard, 0);
    CHECK_CLASS(bad_call(), MPI_ERR_COMM);
    CHECK_EQ(heard, 1);
    CHECK_EQ(classes[0], MPI_ERR_COMM);
    bad_handles(); // the instance is gone
    int n, flag;
    CHECK_CLASS(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
    CHECK_EQ(heard, 2);
    CHECK_EQ(classes[1], MPI_ERR_TYPE);
    MPI_Initialized(&flag); // no failure, no event; nor are failures of tools'
    CODE(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(heard, 2);

    // Of several functions the least safe that may be called, which here is any; without it, the next.
    listen(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, &mark[2], hear_safe);
    bad_call();
    CHECK_EQ(heard, 3);
    CHECK_EQ(told, 0);
    listen(registration, MPI_T_CB_REQUIRE_NONE, NULL, NULL);
    bad_call();
    CHECK_EQ(heard, 3);
    CHECK_EQ(told, 1);
    listen(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, NULL, NULL);
    bad_call();
    CHECK_EQ(told, 1);

    // Two registrations get the same event; the error handler is called after them.
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    listen(registration, MPI_T_CB_REQUIRE_NONE, &mark[0], hear);
    allocate(&second);
    listen(second, MPI_T_CB_REQUIRE_NONE, &mark[1], hear);
    heard = order = 0;
    bad_call();
    CHECK_EQ(heard, 2);
    CHECK_EQ(order, 114);
    CODE(MPI_T_event_handle_free(second, &mark[3], hear_freed), MPI_SUCCESS);
    CHECK_EQ(freed, 1);
    bad_call();
    CHECK_EQ(heard, 3);
    return_errors();

    // An error inside a tool's callback is dropped. The first time, no dropped-handler is
    // registered.
    listen(registration, MPI_T_CB_REQUIRE_NONE, &mark[0], fail_inside);
    heard = order = freed = 0;
    bad_call();
    CHECK_EQ(heard, 1);
    CODE(MPI_T_event_set_dropped_handler(registration, hear_dropped), MPI_SUCCESS);
    bad_call();
    CHECK_EQ(heard, 2);
    CHECK_EQ(dropped, 0);
    order = 0;
    listen(registration, MPI_T_CB_REQUIRE_NONE, &mark[0], hear);
    bad_call();
    CHECK_EQ(dropped, 2);
    CHECK_EQ(order, 21); // of the loss first
    bad_call();
    CHECK_EQ(dropped, 2);
    CHECK_EQ(order, 211);
    CODE(MPI_T_event_set_dropped_handler(registration, NULL), MPI_SUCCESS);

    // A callback that frees its own registration: the tool is notified when the callback has
    // returned.
    listen(registration, MPI_T_CB_REQUIRE_NONE, &mark[0], free_inside);
    order = 0;
    bad_call();
    CHECK_EQ(freed, 1);
    CHECK_EQ(order, 13);
    bad_call();
    CHECK_EQ(order, 13);
    CODE(MPI_T_event_set_dropped_handler(registration, NULL), MPI_T_ERR_INVALID_HANDLE);

    // No function is called after the interface was finalised.
    allocate(&registration);
    listen(registration, MPI_T_CB_REQUIRE_NONE, &mark[0], hear);
    heard = 0;
    bad_call();
    CHECK_EQ(heard, 1);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    bad_call();
    CHECK_EQ(heard, 1);
    MPI_Errhandler_free(&errhandler);
    return finish();
}
