// ranks: 1 2
// The interface is initialised and finalised as often as one likes, before MPI, beside it and after it; every function
// says when it is not, and handles do not outlive it.
#include "tool.h"

static void free_callback(MPI_T_event_registration r, MPI_T_cb_safety s, void *u) { (void)r, (void)s, (void)u; }

static void nothing_works(void) {
    char text[8];
    int n = 4, flag, provided[4];
    MPI_Count count;
    MPI_Datatype type;
    MPI_Info info;
    MPI_T_enum names;
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle pvar = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_event_registration registration = 0;
    MPI_T_event_instance instance = 0;
    MPI_T_source_order order;
    const int not = MPI_T_ERR_NOT_INITIALIZED;
    CODE(MPI_T_finalize(), not);
    CODE(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, text, &n), not);
    CODE(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &n, text, &n), not);
    CODE(MPI_T_cvar_get_num(&n), not);
    CODE(MPI_T_cvar_get_info(0, text, &n, &n, &type, &names, text, &n, &n, &n), not);
    CODE(MPI_T_cvar_get_index("OXMPI_EXPLAIN", &n), not);
    CODE(MPI_T_cvar_handle_alloc(0, NULL, &cvar, &n), not);
    CODE(MPI_T_cvar_handle_free(&cvar), not);
    CODE(MPI_T_cvar_read(cvar, provided), not);
    CODE(MPI_T_cvar_write(cvar, provided), not);
    CODE(MPI_T_pvar_get_num(&n), not);
    CODE(MPI_T_pvar_get_info(0, text, &n, &n, &n, &type, &names, text, &n, &n, &flag, &flag, &flag), not);
    CODE(MPI_T_pvar_get_index("oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, &n), not);
    CODE(MPI_T_pvar_session_create(&session), not);
    CODE(MPI_T_pvar_session_free(&session), not);
    CODE(MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, &n), not);
    CODE(MPI_T_pvar_handle_free(session, &pvar), not);
    CODE(MPI_T_pvar_start(session, pvar), not);
    CODE(MPI_T_pvar_stop(session, pvar), not);
    CODE(MPI_T_pvar_read(session, pvar, provided), not);
    CODE(MPI_T_pvar_write(session, pvar, provided), not);
    CODE(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), not);
    CODE(MPI_T_pvar_readreset(session, pvar, provided), not);
    CODE(MPI_T_source_get_num(&n), not);
    CODE(MPI_T_source_get_info(0, text, &n, text, &n, &order, &count, &count, &info), not);
    CODE(MPI_T_source_get_timestamp(0, &count), not);
    CODE(MPI_T_event_get_num(&n), not);
    CODE(MPI_T_event_get_info(0, text, &n, &n, NULL, NULL, &n, &names, &info, text, &n, &n), not);
    CODE(MPI_T_event_get_index("oxmpi_slept", &n), not);
    CODE(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration), not);
    CODE(MPI_T_event_handle_set_info(registration, MPI_INFO_NULL), not);
    CODE(MPI_T_event_handle_get_info(registration, &info), not);
    CODE(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL), not);
    CODE(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL), not);
    CODE(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info), not);
    CODE(MPI_T_event_handle_free(registration, NULL, free_callback), not);
    CODE(MPI_T_event_set_dropped_handler(registration, NULL), not);
    CODE(MPI_T_event_read(instance, 0, provided), not);
    CODE(MPI_T_event_copy(instance, provided), not);
    CODE(MPI_T_event_get_timestamp(instance, &count), not);
    CODE(MPI_T_event_get_source(instance, &n), not);
    CODE(MPI_T_category_get_num(&n), not);
    CODE(MPI_T_category_get_info(0, text, &n, text, &n, &n, &n, &n), not);
    CODE(MPI_T_category_get_num_events(0, &n), not);
    CODE(MPI_T_category_get_index("oxmpi", &n), not);
    CODE(MPI_T_category_get_cvars(0, 4, provided), not);
    CODE(MPI_T_category_get_pvars(0, 4, provided), not);
    CODE(MPI_T_category_get_events(0, 4, provided), not);
    CODE(MPI_T_category_get_categories(0, 4, provided), not);
    CODE(MPI_T_category_changed(&n), not);
}

static MPI_T_pvar_session session;
static MPI_T_pvar_handle sleeps;
static MPI_T_cvar_handle explain;
static MPI_T_event_registration errors;

static void make_handles(void) {
    int count = -1;
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    sleeps = pvar(session, "oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_NULL);
    CODE(MPI_T_cvar_handle_alloc(cvar_index("OXMPI_EXPLAIN"), NULL, &explain, &count), MPI_SUCCESS);
    CHECK_EQ(count, 1);
    CODE(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &errors), MPI_SUCCESS);
}

static void handles_work(int code_of_session, int code_of_handle) {
    unsigned long long value;
    CODE(MPI_T_pvar_read(session, sleeps, &value), code_of_session);
    CODE(MPI_T_cvar_read(explain, &value), code_of_handle);
    CODE(MPI_T_event_set_dropped_handler(errors, NULL), code_of_handle);
}

int main(int argc, char **argv) {
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
    int provided = -1;
    nothing_works();
    CODE(MPI_T_init_thread(-5, &provided), MPI_T_ERR_INVALID);
    CODE(MPI_T_init_thread(MPI_THREAD_MULTIPLE + 1, &provided), MPI_T_ERR_INVALID);
    CODE(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
    nothing_works(); // what failed does not count
    for (int i = 0; i < 3; i++) {
        CODE(MPI_T_init_thread(levels[i], &provided), MPI_SUCCESS);
        CHECK_EQ(provided, levels[i]);
    }
    make_handles();
    handles_work(MPI_SUCCESS, MPI_SUCCESS);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    handles_work(MPI_SUCCESS, MPI_SUCCESS);

    start(&argc, &argv); // the handles from before are still good
    handles_work(MPI_SUCCESS, MPI_SUCCESS);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    nothing_works();
    start_tool();
    handles_work(MPI_T_ERR_INVALID_SESSION, MPI_T_ERR_INVALID_HANDLE);
    make_handles();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();

    handles_work(MPI_SUCCESS, MPI_SUCCESS);
    CODE(MPI_T_pvar_handle_free(session, &sleeps), MPI_SUCCESS);
    CHECK(sleeps == MPI_T_PVAR_HANDLE_NULL);
    CODE(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    CODE(MPI_T_cvar_handle_free(&explain), MPI_SUCCESS);
    CHECK(explain == MPI_T_CVAR_HANDLE_NULL);
    CODE(MPI_T_event_handle_free(errors, NULL, free_callback), MPI_SUCCESS);
    make_handles(); // and new ones can be made
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    nothing_works();
    start_tool();
    handles_work(MPI_T_ERR_INVALID_SESSION, MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
