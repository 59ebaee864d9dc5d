// ranks: 2 4
// attempts: 3
// no-check: counts how often ranks are woken
// A call that has slept says so to functions that keep to the tool information interface; one that promised nothing is passed over.
#include "tool.h"

static MPI_T_pvar_session session;
static MPI_T_pvar_handle call;
static int heard, lost;
static unsigned long long slept;

static void hear(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data) {
    struct {
        int call;
        unsigned long long time;
    } all = {-1, 0};
    (void)r, (void)data;
    CHECK_EQ(safety, MPI_T_CB_REQUIRE_MPI_RESTRICTED);
    CODE(MPI_T_event_copy(e, &all), MPI_SUCCESS);
    CHECK_EQ(all.call, state(session, call)); // in this call we are
    CHECK(all.time < 60000000000ull);
    slept += all.time;
    heard++;
}

static void hear_in_vain(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data) {
    (void)e, (void)r, (void)safety, (void)data;
    CHECK_FAIL("a function that promised nothing was called");
}

static void hear_dropped(MPI_Count count, MPI_T_event_registration r, int source, MPI_T_cb_safety safety, void *data) {
    (void)r, (void)source, (void)safety, (void)data;
    lost += (int)count;
}

int main(int argc, char **argv) {
    int event = -1, value = 0;
    start(&argc, &argv);
    start_tool();
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    call = pvar(session, "oxmpi_call", MPI_T_PVAR_CLASS_STATE, MPI_COMM_NULL);
    MPI_T_pvar_handle asleep = pvar(session, "oxmpi_time_asleep", MPI_T_PVAR_CLASS_TIMER, MPI_COMM_NULL),
                      sleeps = pvar(session, "oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_NULL),
                      awake = level(session, "oxmpi_awake_ranks");
    MPI_T_event_registration listening, deaf;
    CODE(MPI_T_event_get_index("oxmpi_slept", &event), MPI_SUCCESS);
    CODE(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, &listening), MPI_SUCCESS);
    CODE(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, &deaf), MPI_SUCCESS);
    CODE(MPI_T_event_register_callback(listening, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, hear), MPI_SUCCESS);
    CODE(MPI_T_event_register_callback(deaf, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, hear_in_vain), MPI_SUCCESS);
    CODE(MPI_T_event_set_dropped_handler(deaf, hear_dropped), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    heard = 0, slept = 0;
    if (rank == 0) {
        sleep_ms(350);
        for (int i = 0; i < 200 && number(session, awake) > 1; i++) sleep_ms(10); // they look around now and then
        CHECK_EQ(number(session, awake), 1);                                      // all others sleep
        for (int i = 1; i < size; i++) MPI_Send(&i, 1, MPI_INT, i, 0, MPI_COMM_WORLD);
        CHECK_EQ(number(session, sleeps), 0);
        CHECK_EQ(heard, 0);
    } else {
        double seconds = 0;
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(value, rank);
        CODE(MPI_T_pvar_read(session, asleep, &seconds), MPI_SUCCESS);
        CHECK(seconds > 0.3 && seconds < 30);
        CHECK_EQ(number(session, sleeps), heard);
        CHECK(heard >= 1);
        double difference = seconds - (double)slept * 1e-9;
        CHECK(difference < 1e-6 && difference > -1e-6);
    }
    CHECK_EQ(lost, 0); // no function that could be told is registered
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return finish();
}
