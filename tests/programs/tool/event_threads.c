// ranks: 1 2
// cflags: -pthread
// Events in a program with threads need callbacks that are safe: others are skipped, and the loss
// is reported when there is a safe one. A registration that is freed while its callback runs in
// another thread is removed at once, and its tool is notified when the callback has returned.
#include "tool.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int unsafe_calls, calls, dropped, drops, freed, inside, release;
static pthread_t freed_by;
static char mark[3];

static int bad_call(void) {
    int n;
    return MPI_Comm_size(MPI_COMM_NULL, &n);
}

static void hear_unsafe(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data) {
    (void)e, (void)r, (void)safety, (void)data;
    unsafe_calls++;
}

static void hear(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data) {
    int class = -1;
    (void)r;
    CHECK_EQ(safety, MPI_T_CB_REQUIRE_THREAD_SAFE);
    CHECK(data == &mark[1]);
    CODE(MPI_T_event_read(e, 0, &class), MPI_SUCCESS);
    CHECK_EQ(class, MPI_ERR_COMM);
    calls++;
}

static void hear_dropped(MPI_Count count, MPI_T_event_registration r, int source, MPI_T_cb_safety safety, void *data) {
    (void)r, (void)source;
    CHECK_EQ(safety, MPI_T_CB_REQUIRE_THREAD_SAFE);
    CHECK(data == &mark[1]);
    dropped += (int)count;
    drops++;
}

static void stay(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data) {
    int class = -1;
    (void)r, (void)safety, (void)data;
    inside++;
    while (!release) sleep_ms(1);
    CODE(MPI_T_event_read(e, 0, &class), MPI_SUCCESS); // events of other threads are separate
    CHECK_EQ(class, MPI_ERR_COMM);
}

static void hear_freed(MPI_T_event_registration r, MPI_T_cb_safety safety, void *data) {
    (void)r, (void)safety;
    CHECK(data == &mark[2]);
    freed_by = pthread_self();
    freed++;
}

static void *fail(void *unused) {
    (void)unused;
    CHECK_CLASS(bad_call(), MPI_ERR_COMM);
    return NULL;
}

static void *fail_often(void *unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++) CHECK_CLASS(bad_call(), MPI_ERR_COMM);
    return NULL;
}

int main(int argc, char **argv) {
    int provided = -1, event = -1;
    start_threads(&argc, &argv);
    return_errors();
    CODE(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    CODE(MPI_T_event_get_index("oxmpi_failed_call", &event), MPI_SUCCESS);
    MPI_T_event_registration one, two;
    CODE(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, &one), MPI_SUCCESS);
    CODE(MPI_T_event_set_dropped_handler(one, hear_dropped), MPI_SUCCESS);
    bad_call(); // no function at all: nothing to lose
    CODE(MPI_T_event_register_callback(one, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &mark[0], hear_unsafe), MPI_SUCCESS);
    for (int i = 0; i < 3; i++) bad_call();
    CHECK_EQ(unsafe_calls, 0);
    CHECK_EQ(drops, 0);
    CODE(MPI_T_event_register_callback(one, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &mark[1], hear), MPI_SUCCESS);
    bad_call();
    bad_call();
    CHECK_EQ(unsafe_calls, 0);
    CHECK_EQ(drops, 1);
    CHECK_EQ(dropped, 3);
    CHECK_EQ(calls, 2);

    // Several threads at once: none is lost.
    pthread_t threads[4];
    calls = 0;
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, fail_often, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(calls, 4000);
    CHECK_EQ(drops, 1);
    CODE(MPI_T_event_handle_free(one, NULL, NULL), MPI_SUCCESS);

    // Freed from outside while the function runs.
    CODE(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, &two), MPI_SUCCESS);
    CODE(MPI_T_event_register_callback(two, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, stay), MPI_SUCCESS);
    CHECK_EQ(pthread_create(&threads[0], NULL, fail, NULL), 0);
    while (!inside) sleep_ms(1);
    CODE(MPI_T_event_handle_free(two, &mark[2], hear_freed), MPI_SUCCESS);
    CODE(MPI_T_event_handle_free(two, &mark[2], hear_freed), MPI_T_ERR_INVALID_HANDLE);
    CODE(MPI_T_event_set_dropped_handler(two, NULL), MPI_T_ERR_INVALID_HANDLE);
    bad_call(); // no function is registered any more, or this would wait for ever
    CHECK_EQ(inside, 1);
    CHECK_EQ(freed, 0);
    release = 1;
    pthread_join(threads[0], NULL);
    CHECK_EQ(freed, 1);
    CHECK(!pthread_equal(freed_by, pthread_self()));
    CHECK_EQ(unsafe_calls, 0);
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return finish();
}
