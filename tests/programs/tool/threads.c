// ranks: 2 3
// sleeps: a rank comes late to every call
// attempts: 3
// cflags: -pthread
// args: before
// args: after
// A thread of a tool looks at the variables while the program is in MPI calls: it sees the call that the main thread is blocked in
// and how it sleeps. A tool that asks for threads gets them, before a program without them has started and after.
#include "tool.h"
#include <pthread.h>
#include <stdatomic.h>

enum { HANDLES = 200 };
static MPI_T_pvar_session session;
static MPI_T_pvar_handle call, sleeps, asleep, posted;
static atomic_int stop, events_heard, function_heard;
static _Atomic unsigned long long time_heard;
static int receive_number = -1;

static void hear(MPI_T_event_instance instance, MPI_T_event_registration of, MPI_T_cb_safety safety, void *data) {
    unsigned long long time = 0;
    int function = -1;
    (void)of, (void)data;
    CHECK_EQ(safety, MPI_T_CB_REQUIRE_THREAD_SAFE);
    CODE(MPI_T_event_read(instance, 0, &function), MPI_SUCCESS);
    CODE(MPI_T_event_read(instance, 1, &time), MPI_SUCCESS);
    (void)number(session, posted); // variables can be read in here
    if (function != receive_number) return;
    events_heard++;
    function_heard = function;
    time_heard += time;
}

// The number of a function in the enumeration of calls.
static int number_of(const char *name) {
    MPI_T_enum names;
    int n = 0, value = -1;
    int index = pvar_index("oxmpi_call", MPI_T_PVAR_CLASS_STATE);
    CODE(MPI_T_pvar_get_info(index, NULL, NULL, NULL, NULL, NULL, &names, NULL, NULL, NULL, NULL, NULL, NULL), MPI_SUCCESS);
    CODE(MPI_T_enum_get_info(names, &n, NULL, NULL), MPI_SUCCESS);
    for (int i = 0; i < n; i++) {
        char text[64];
        int length = sizeof text;
        CODE(MPI_T_enum_get_item(names, i, &value, text, &length), MPI_SUCCESS);
        if (!strcmp(text, name)) return value;
    }
    CHECK_FAIL("%s has no number", name);
    return -1;
}

// Watches the main thread, which waits for a message; sends it once it was seen.
static void *watch(void *argument) {
    int seen = 0;
    (void)argument;
    for (int i = 0; i < 4000 && !seen; i++) {
        seen = state(session, call) == receive_number && number(session, posted) >= 1;
        sleep_ms(1);
    }
    CHECK(seen);
    sleep_ms(150); // it falls asleep
    stop = 1;
    return NULL;
}

// Sessions and handles from several threads at once.
static void *work(void *argument) {
    MPI_T_pvar_session own;
    (void)argument;
    CODE(MPI_T_pvar_session_create(&own), MPI_SUCCESS);
    for (int i = 0; i < HANDLES; i++) {
        MPI_T_pvar_handle handle = pvar(own, "oxmpi_failed_calls", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_NULL);
        unsigned long long value = (unsigned long long)i;
        CODE(MPI_T_pvar_write(own, handle, &value), MPI_SUCCESS);
        CHECK_EQ(number(own, handle), i);
        MPI_T_pvar_handle queue = level(own, "oxmpi_unexpected_messages");
        (void)number(own, queue);
        CODE(MPI_T_pvar_handle_free(own, &handle), MPI_SUCCESS);
    }
    CODE(MPI_T_pvar_session_free(&own), MPI_SUCCESS);
    return NULL;
}

int main(int argc, char **argv) {
    int provided = -1, before = !strcmp(argv[1], "before");
    if (!before) start(&argc, &argv); // without a lock, which the tool then turns on
    CODE(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    if (before) start(&argc, &argv);
    CODE(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    call = pvar(session, "oxmpi_call", MPI_T_PVAR_CLASS_STATE, MPI_COMM_NULL);
    sleeps = pvar(session, "oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, MPI_COMM_NULL);
    asleep = pvar(session, "oxmpi_time_asleep", MPI_T_PVAR_CLASS_TIMER, MPI_COMM_NULL);
    posted = level(session, "oxmpi_posted_receives");
    receive_number = number_of("MPI_Recv");
    MPI_T_event_registration registration;
    int event = -1;
    CODE(MPI_T_event_get_index("oxmpi_slept", &event), MPI_SUCCESS);
    CODE(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, &registration), MPI_SUCCESS);
    CODE(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, hear), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);

    pthread_t thread;
    int value = 0;
    CODE(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    CHECK_EQ(number(session, sleeps), 0);
    double start_time = MPI_Wtime();
    if (rank == 0) {
        CHECK_EQ(pthread_create(&thread, NULL, watch, NULL), 0);
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(value, 17);
        pthread_join(thread, NULL);
        CHECK(stop);
        double seconds = 0, all = MPI_Wtime() - start_time;
        CODE(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
        CODE(MPI_T_pvar_read(session, asleep, &seconds), MPI_SUCCESS);
        CHECK(number(session, sleeps) >= 1);
        CHECK(seconds > 0.3 && seconds < all);
        CHECK(events_heard >= 1);
        CHECK_EQ(function_heard, receive_number);
        CHECK((double)time_heard * 1e-9 <= seconds + 1e-3);
        CHECK((double)time_heard * 1e-9 > 0.3);
    } else if (rank == 1) {
        sleep_ms(600);
        value = 17;
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    CODE(MPI_T_event_handle_free(registration, NULL, NULL), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);

    // Threads of tools beside a program that communicates.
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) CHECK_EQ(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        int out = i + rank, in = -1, left = (rank + size - 1) % size;
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in != i + left) CHECK_EQ(in, i + left);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return finish();
}
