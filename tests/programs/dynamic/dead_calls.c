// ranks: 2
// sleeps: each case waits until a death is noticed
// timeout: 120
// no-check: calls are cut short by a death, and objects are left
// A process of another job dies while this job waits for it in a call: every call gets an error, on every rank, and none waits for
// ever or blames different collective calls.
#include "jobs.h"
#include <signal.h>

// WINDOW: the call needs a window of both jobs, which must share memory for that; if one is on several hosts, they do not.
enum { LOCK_ONE = 1, LOCK_ALL = 2, BEFORE = 4, WINDOW = 8 };

static MPI_Comm inter, merged;
static MPI_Win win;
static int victim;
static char *big;
static double values[20000], sums[20000];

static int wait_for(MPI_Request request) { return MPI_Wait(&request, MPI_STATUS_IGNORE); }

static MPI_Group victims(void) {
    MPI_Group all, some;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &victim, &some);
    MPI_Group_free(&all);
    return some;
}

static int call_probe(void) { return MPI_Probe(victim, 3, merged, MPI_STATUS_IGNORE); }
static int call_probe_any(void) { return MPI_Probe(MPI_ANY_SOURCE, 3, merged, MPI_STATUS_IGNORE); }
static int call_mprobe(void) {
    MPI_Message message;
    return MPI_Mprobe(victim, 3, merged, &message, MPI_STATUS_IGNORE);
}
static int call_iprobe(void) {
    int found = 0, code = 0;
    while (!found && !code) code = MPI_Iprobe(victim, 3, merged, &found, MPI_STATUS_IGNORE);
    return code;
}
static int call_recv(void) { return MPI_Recv(big, 1, MPI_BYTE, victim, 3, merged, MPI_STATUS_IGNORE); }
static int call_recv_any(void) { return MPI_Recv(big, 1, MPI_BYTE, MPI_ANY_SOURCE, 3, merged, MPI_STATUS_IGNORE); }
static int call_ssend(void) { return MPI_Ssend(big, 1, MPI_BYTE, 0, 3, inter); }
static int call_sendrecv(void) {
    return MPI_Sendrecv(big, 1, MPI_BYTE, victim, 3, big + 1, 1, MPI_BYTE, victim, 3, merged, MPI_STATUS_IGNORE);
}
static int call_test(void) {
    MPI_Request request;
    int done = 0, code = 0;
    OK(MPI_Irecv(big, 1, MPI_BYTE, victim, 3, merged, &request));
    while (!done && !code) code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return code;
}
static int call_partitioned(void) {
    MPI_Request request;
    OK(MPI_Precv_init(big, 4, 10, MPI_BYTE, victim, 3, merged, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    OK(MPI_Request_free(&request));
    return code;
}
static int call_barrier(void) { return MPI_Barrier(merged); }
static int call_inter_barrier(void) { return MPI_Barrier(inter); }
static int call_bcast(void) { return MPI_Bcast(big, 4 << 20, MPI_BYTE, victim, merged); }
static int call_allreduce(void) { return MPI_Allreduce(values, sums, 20000, MPI_DOUBLE, MPI_SUM, merged); }
static int call_alltoall(void) { return MPI_Alltoall(big, 100000, MPI_BYTE, big + (2 << 20), 100000, MPI_BYTE, merged); }
static int call_alltoallv(void) {
    int counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, displs[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return MPI_Alltoallv(big, counts, displs, MPI_BYTE, big + 10, counts, displs, MPI_BYTE, merged);
}
static int call_ibarrier(void) {
    MPI_Request request;
    OK(MPI_Ibarrier(merged, &request));
    return wait_for(request);
}
static int call_iallreduce(void) {
    MPI_Request request;
    OK(MPI_Iallreduce(values, sums, 20000, MPI_DOUBLE, MPI_SUM, merged, &request));
    int done = 0, code = 0;
    while (!done && !code) code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return code;
}
static int call_dup(void) {
    MPI_Comm copy;
    return MPI_Comm_dup(merged, &copy);
}
static int call_idup(void) {
    MPI_Comm copy;
    MPI_Request request;
    OK(MPI_Comm_idup(merged, &copy, &request));
    return wait_for(request);
}
static int call_split(void) {
    MPI_Comm part;
    return MPI_Comm_split(merged, 0, 0, &part);
}
static int call_win_allocate(void) {
    MPI_Win other;
    void *base;
    return MPI_Win_allocate(100, 1, MPI_INFO_NULL, merged, &base, &other);
}
static int call_file_open(void) {
    MPI_File file;
    return MPI_File_open(merged, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
}
static int call_fence(void) { return MPI_Win_fence(0, win); }
static int call_win_free(void) {
    MPI_Win copy = win;
    return MPI_Win_free(&copy);
}
static int call_lock(void) { return MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); }
static int call_lock_all(void) { return MPI_Win_lock_all(0, win); }
static int call_start(void) {
    MPI_Group group = victims();
    int code = MPI_Win_start(group, 0, win);
    MPI_Group_free(&group);
    return code;
}
static int call_win_wait(void) {
    MPI_Group group = victims();
    OK(MPI_Win_post(group, 0, win));
    MPI_Group_free(&group);
    return MPI_Win_wait(win);
}
static int call_win_test(void) {
    MPI_Group group = victims();
    OK(MPI_Win_post(group, 0, win));
    MPI_Group_free(&group);
    int done = 0, code = 0;
    while (!done && !code) code = MPI_Win_test(win, &done);
    return code;
}

static const struct {
    const char *name;
    int (*call)(void);
    // What the process holds when it dies; BEFORE: it is dead when the call begins.
    int how;
} calls[] = {
    {"probe", call_probe, 0},         {"probe any", call_probe_any, BEFORE},
    {"mprobe", call_mprobe, BEFORE},  {"iprobe", call_iprobe, 0},
    {"recv", call_recv, 0},           {"recv any", call_recv_any, BEFORE},
    {"ssend", call_ssend, 0},         {"sendrecv", call_sendrecv, BEFORE},
    {"test", call_test, 0},           {"partitioned", call_partitioned, 0},
    {"barrier", call_barrier, 0},     {"inter barrier", call_inter_barrier, BEFORE},
    {"bcast", call_bcast, 0},         {"allreduce", call_allreduce, BEFORE},
    {"alltoall", call_alltoall, 0},   {"alltoallv", call_alltoallv, BEFORE},
    {"ibarrier", call_ibarrier, 0},   {"iallreduce", call_iallreduce, 0},
    {"dup", call_dup, 0},             {"idup", call_idup, BEFORE},
    {"split", call_split, BEFORE},    {"win allocate", call_win_allocate, WINDOW},
    {"file open", call_file_open, 0}, {"fence", call_fence, WINDOW},
    {"win free", call_win_free, WINDOW},
    {"lock", call_lock, LOCK_ONE | WINDOW},
    {"lock", call_lock, LOCK_ALL | WINDOW},
    {"lock all", call_lock_all, LOCK_ONE | WINDOW},
    {"start", call_start, WINDOW},
    {"win wait", call_win_wait, WINDOW},
    {"win test", call_win_test, BEFORE | WINDOW},
};

int main(int argc, char **argv) {
    start(&argc, &argv);
    char port[MPI_MAX_PORT_NAME] = "";
    int *base, count = (int)(sizeof calls / sizeof *calls), hosts = on_hosts();
    big = get_memory(8 << 20);
    if (argc > 1) {
        int how = atoi(argv[1]);
        MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        MPI_Intercomm_merge(inter, 1, &merged);
        if (how & WINDOW) MPI_Win_allocate(64, 4, MPI_INFO_NULL, merged, &base, &win);
        if (how & LOCK_ONE) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        if (how & LOCK_ALL) MPI_Win_lock_all(0, win);
        MPI_Barrier(merged);
        if (!(how & BEFORE)) sleep_ms(150);
        raise(SIGKILL);
    }
    return_errors();
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    for (int turn = 0; turn < count; turn++) {
        char how[16];
        if (hosts && calls[turn].how & WINDOW) continue;
        snprintf(how, sizeof how, "%d", calls[turn].how);
        pid_t client = rank == 0 ? start_alone(argv[0], how, port) : 0;
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        MPI_Intercomm_merge(inter, 0, &merged);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
        if (calls[turn].how & WINDOW) {
            MPI_Win_allocate(64, 4, MPI_INFO_NULL, merged, &base, &win);
            MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        }
        victim = size;
        MPI_Barrier(merged);
        if (calls[turn].how & BEFORE) {
            if (rank == 0) CHECK_EQ(waitpid(client, NULL, 0), client);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        int code = calls[turn].call();
        if (check_class(code) != MPI_ERR_PROC_ABORTED)
            CHECK_FAIL("%s gave class %d: %s", calls[turn].name, check_class(code), check_text(code));
        CHECK_TEXT(code, "has ended, so this call cannot complete");
        if (rank == 0 && !(calls[turn].how & BEFORE)) CHECK_EQ(waitpid(client, NULL, 0), client);
        // The window cannot be freed any more, nor what is shared with the dead; this job goes on.
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (rank == 0) MPI_Close_port(port);
    return finish();
}
