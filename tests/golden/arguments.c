// What every function of MPI answers to good and to bad arguments: `cargo xtask golden` writes calls.h, compiles this, runs
// it, and compares what it prints with arguments.txt. The header may be that of another ABI.
//
// usage: mpirun -n 1 --initial-errhandler mpi_errors_return arguments
//
// A row for every function with good arguments:
//     MPI_Iprobe -> MPI_SUCCESS flag=1 status={0 0 MPI_SUCCESS 4}
// one for every bad value of every argument, all others being good:
//     MPI_Send count=-1 -> MPI_ERR_COUNT: MPI_Send: …
// and one for every function: which mistake is reported if there are two.
//     MPI_Send pairs -> count+datatype: count, …
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind {
    K_comm, K_datatype, K_errhandler, K_file, K_group, K_info, K_message, K_op, K_request, K_session, K_win,
    MPI_KINDS,
    K_t_enum = MPI_KINDS, K_t_cvar_handle, K_t_pvar_handle, K_t_pvar_session, K_t_event_registration,
    K_t_event_instance,
    KINDS
};

enum { ARGUMENTS = 16, VALUES = 12 };

struct name {
    int value;
    const char *name;
};

struct predefined {
    enum kind kind;
    uintptr_t handle;
    const char *name;
};

struct value {
    const char *name;
    int (*is_right)(void);
};

struct argument {
    const char *name;
    const char *bad[VALUES]; // up to a null pointer
};

// What a good call would wait for, and what its outputs wait for.
enum { RECEIVES = 1, SENDS = 2, ACCESSES = 4, STARTS = 8, BUFFERS = 16 };

struct function {
    const char *name;
    int (*call)(const int *choices); // 0: the good value, 1: the first bad one, …
    void (*show)(const int *choices);
    int flags;
    struct argument arguments[ARGUMENTS];
};

static const uintptr_t nulls[MPI_KINDS] = {
    (uintptr_t)MPI_COMM_NULL,    (uintptr_t)MPI_DATATYPE_NULL, (uintptr_t)MPI_ERRHANDLER_NULL,
    (uintptr_t)MPI_FILE_NULL,    (uintptr_t)MPI_GROUP_NULL,    (uintptr_t)MPI_INFO_NULL,
    (uintptr_t)MPI_MESSAGE_NULL, (uintptr_t)MPI_OP_NULL,       (uintptr_t)MPI_REQUEST_NULL,
    (uintptr_t)MPI_SESSION_NULL, (uintptr_t)MPI_WIN_NULL,
};

// The objects that good arguments name, made anew when a call may have changed them.
static uintptr_t good[KINDS], freed[KINDS];
static MPI_Comm cart, graph, dist_graph;
static MPI_Request partitioned_send, partitioned_recv, grequest;
static MPI_Win locked_win;
static MPI_Datatype uncommitted;
static int comm_keyval = MPI_KEYVAL_INVALID, type_keyval = MPI_KEYVAL_INVALID, win_keyval = MPI_KEYVAL_INVALID;
static char long_text[3000];

enum { ROOM = 256 };

static int64_t rooms[ARGUMENTS][1024];
static size_t one_value[ARGUMENTS]; // the length, if the room is for one value

// Memory for the argument of this number; it starts with zeros.
static void *room(int argument)
{
    one_value[argument] = 0;
    return memset(rooms[argument], 0, ROOM);
}

// Memory for an output of this length.
static void *out(int argument, size_t length)
{
    memset(rooms[argument], 'Z', ROOM);
    one_value[argument] = length;
    return memset(rooms[argument], 0, length);
}

// Memory with data to send.
static void *data(int argument)
{
    int *list = room(argument);
    for (int i = 0; i < 16; i++) list[i] = i + 7;
    return list;
}

static void *status_room(int argument)
{
    MPI_Status *status = room(argument);
    MPI_Status_set_elements(status, MPI_BYTE, 12);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    status->MPI_ERROR = MPI_ERR_TRUNCATE;
    return status;
}

static void *f_status_room(int argument)
{
    MPI_Status status = *(MPI_Status *)status_room(argument);
    MPI_Status_c2f(&status, room(argument));
    return rooms[argument];
}

static void *f08_status_room(int argument)
{
    MPI_Status status = *(MPI_Status *)status_room(argument);
    MPI_Status_c2f08(&status, room(argument));
    return rooms[argument];
}

// Lists whose first element may be another one.
static void *ints(int argument, int value, int first)
{
    int *list = room(argument);
    for (int i = 0; i < 16; i++) list[i] = i ? value : first;
    return list;
}

static void *wides(int argument, int64_t value, int64_t first)
{
    int64_t *list = room(argument);
    for (int i = 0; i < 16; i++) list[i] = i ? value : first;
    return list;
}

// A handle is an int or a pointer, according to the ABI.
static void *handles(int argument, size_t size, uintptr_t value, uintptr_t first)
{
    char *list = room(argument);
    for (int i = 0; i < 16; i++) memcpy(list + (size_t)i * size, i ? &value : &first, size);
    return list;
}

static void *range(int argument, int first, int last, int stride)
{
    int *list = room(argument);
    list[0] = first, list[1] = last, list[2] = stride;
    return list;
}

static void must(int code, const char *what)
{
    if (code == MPI_SUCCESS) return;
    fprintf(stderr, "arguments: %s failed\n", what);
    exit(1);
}
#define MUST(call) must(call, #call)

static int do_nothing(void) { return MPI_SUCCESS; }

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

#include "calls.h"

static void make_objects(void)
{
    void *value;
    int flag;
    if (MPI_Comm_get_attr(MPI_COMM_SELF, comm_keyval, &value, &flag) != MPI_SUCCESS)
        MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_keyval, NULL));
    if (MPI_Type_get_attr(MPI_INT, type_keyval, &value, &flag) != MPI_SUCCESS)
        MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL));
    static int memory[64], one = 1, zero = 0;
    int number;
    MPI_Comm comm;
    MPI_Errhandler errhandler;
    MPI_File file;
    MPI_Group group;
    MPI_Info info;
    MPI_Request request;
    MPI_Session session;
    MPI_Win win;
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MUST(MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)do_nothing, &errhandler));
    MUST(MPI_File_open(MPI_COMM_SELF, "golden.file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    MUST(MPI_Type_contiguous(3, MPI_INT, &uncommitted));
    MUST(MPI_Comm_group(MPI_COMM_SELF, &group));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "golden", "value"));
    MUST(MPI_Send_init(memory, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request));
    MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MUST(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    MUST(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    if (MPI_Win_get_attr(win, win_keyval, &value, &flag) != MPI_SUCCESS)
        MUST(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, NULL));
    MUST(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &locked_win));
    MUST(MPI_Win_set_errhandler(locked_win, MPI_ERRORS_RETURN));
    MUST(MPI_Win_lock_all(0, locked_win));
    MUST(MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &cart));
    MUST(MPI_Graph_create(MPI_COMM_SELF, 1, &one, &zero, 0, &graph));
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &zero, MPI_UNWEIGHTED, 1, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                        0, &dist_graph));
    MUST(MPI_Psend_init(memory, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_INFO_NULL, &partitioned_send));
    MUST(MPI_Precv_init(memory, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_INFO_NULL, &partitioned_recv));
    MUST(MPI_Start(&partitioned_send));
    MUST(MPI_Start(&partitioned_recv));
    MUST(MPI_Grequest_start((MPI_Grequest_query_function *)do_nothing, (MPI_Grequest_free_function *)do_nothing,
                            (MPI_Grequest_cancel_function *)do_nothing, NULL, &grequest));
    good[K_comm] = (uintptr_t)comm;
    good[K_datatype] = (uintptr_t)MPI_INT;
    good[K_errhandler] = (uintptr_t)MPI_ERRORS_RETURN;
    good[K_file] = (uintptr_t)file;
    good[K_group] = (uintptr_t)group;
    good[K_info] = (uintptr_t)info;
    good[K_message] = (uintptr_t)MPI_MESSAGE_NO_PROC;
    good[K_op] = (uintptr_t)MPI_SUM;
    good[K_request] = (uintptr_t)request;
    good[K_session] = (uintptr_t)session;
    good[K_win] = (uintptr_t)win;
    MPI_T_cvar_handle cvar;
    MPI_T_pvar_session tools;
    MPI_T_pvar_handle pvar;
    MPI_T_event_registration event;
    if (MPI_T_cvar_handle_alloc(0, NULL, &cvar, &number) == MPI_SUCCESS) good[K_t_cvar_handle] = (uintptr_t)cvar;
    MUST(MPI_T_pvar_session_create(&tools));
    good[K_t_pvar_session] = (uintptr_t)tools;
    if (MPI_T_pvar_handle_alloc(tools, 0, NULL, &pvar, &number) == MPI_SUCCESS) good[K_t_pvar_handle] = (uintptr_t)pvar;
    if (MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &event) == MPI_SUCCESS)
        good[K_t_event_registration] = (uintptr_t)event;
    MPI_Errhandler_free(&errhandler);
}

// What cannot be freed, because the call before freed it or left it in use, stays as it is.
static void free_objects(void)
{
    MPI_Comm comm = (MPI_Comm)good[K_comm];
    MPI_File file = (MPI_File)good[K_file];
    MPI_Group group = (MPI_Group)good[K_group];
    MPI_Info info = (MPI_Info)good[K_info];
    MPI_Request request = (MPI_Request)good[K_request];
    MPI_Session session = (MPI_Session)good[K_session];
    MPI_Win win = (MPI_Win)good[K_win];
    MPI_T_cvar_handle cvar = (MPI_T_cvar_handle)good[K_t_cvar_handle];
    MPI_T_pvar_handle pvar = (MPI_T_pvar_handle)good[K_t_pvar_handle];
    MPI_T_pvar_session tools = (MPI_T_pvar_session)good[K_t_pvar_session];
    void *buffer;
    int size;
    MPI_Comm_detach_buffer(comm, &buffer, &size);
    MPI_Session_detach_buffer(session, &buffer, &size);
    MPI_Buffer_detach(&buffer, &size);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&cart);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&dist_graph);
    MPI_File_close(&file);
    MPI_Type_free(&uncommitted);
    MPI_Group_free(&group);
    MPI_Info_free(&info);
    MPI_Request_free(&request);
    MPI_Grequest_complete(grequest);
    MPI_Request_free(&grequest);
    for (int i = 0; i < 2; i++) MPI_Pready(i, partitioned_send);
    MPI_Wait(&partitioned_send, MPI_STATUS_IGNORE);
    MPI_Request_free(&partitioned_send);
    MPI_Wait(&partitioned_recv, MPI_STATUS_IGNORE);
    MPI_Request_free(&partitioned_recv);
    MPI_Win_unlock_all(locked_win);
    MPI_Win_free(&locked_win);
    MPI_Win_unlock(0, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Session_finalize(&session);
    if (good[K_t_cvar_handle]) MPI_T_cvar_handle_free(&cvar);
    if (good[K_t_pvar_handle]) MPI_T_pvar_handle_free(tools, &pvar);
    MPI_T_pvar_session_free(&tools);
    if (good[K_t_event_registration])
        MPI_T_event_handle_free((MPI_T_event_registration)good[K_t_event_registration], NULL, NULL);
}

static void renew(void)
{
    free_objects();
    // Of the other kinds make_freed has made one.
    const enum kind kinds[] = {K_comm, K_file, K_group, K_info, K_request, K_session, K_win};
    for (int i = 0; i < COUNT(kinds); i++) freed[kinds[i]] = good[kinds[i]];
    for (int i = MPI_KINDS; i < KINDS; i++) freed[i] = good[i];
    make_objects();
}

// Handles of objects that there were.
static void make_freed(void)
{
    MPI_Datatype type;
    MPI_Op op;
    MPI_Errhandler errhandler;
    MUST(MPI_Type_contiguous(2, MPI_INT, &type));
    freed[K_datatype] = (uintptr_t)type;
    MUST(MPI_Type_free(&type));
    MUST(MPI_Op_create((MPI_User_function *)do_nothing, 1, &op));
    freed[K_op] = (uintptr_t)op;
    MUST(MPI_Op_free(&op));
    MUST(MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)do_nothing, &errhandler));
    freed[K_errhandler] = (uintptr_t)errhandler;
    MUST(MPI_Errhandler_free(&errhandler));
    freed[K_message] = freed[K_op];
}

#include "callbacks.h"

// What is being tried, for the message when it ends badly.
static char now[256];

static void on_signal(int signal)
{
    const char *what = signal == SIGALRM ? ": has not returned for 10 seconds\n" : ": crashed\n";
    if (write(2, now, strlen(now)) < 0 || write(2, what, strlen(what)) < 0) _exit(4);
    _exit(2);
}

// The answer to a call: its outputs, or class and text, without numbers that differ from run to run.
static void answer(const struct function *function, const int *choices, int shows, char *out, size_t size)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    alarm(10);
    int code = function->call(choices);
    if (code == MPI_SUCCESS) {
        said_to = 0;
        say("MPI_SUCCESS");
        if (function->flags & ACCESSES) MPI_Win_flush_all(locked_win);
        if (shows) check_rest();
        if (shows) function->show(choices);
        alarm(0);
        snprintf(out, size, "%s", said);
        renew();
        return;
    }
    alarm(0);
    MPI_Error_string(code, text, &length);
    size_t at = (size_t)snprintf(out, size, "%s: ", class_name(code));
    for (const char *c = text; *c && at + 8 < size; c++) {
        if (c[0] == '0' && c[1] == 'x') {
            at += (size_t)snprintf(out + at, size - at, "0x*");
            c += 1 + strspn(c + 2, "0123456789abcdef");
        } else {
            out[at++] = *c == '\n' ? ' ' : *c;
        }
    }
    out[at] = 0;
}

// What the call would wait for has been done.
static void prepare(const struct function *function)
{
    static int received;
    static const int sent = 42;
    static char attached[4096], attached_comm[4096], attached_session[4096];
    MPI_Comm comm = (MPI_Comm)good[K_comm];
    MPI_Request request;
    if (function->flags & RECEIVES) MUST(MPI_Send(&sent, 1, MPI_INT, 0, 0, comm));
    if (function->flags & SENDS) {
        MUST(MPI_Irecv(&received, 1, MPI_INT, 0, 0, comm, &request));
        MUST(MPI_Request_free(&request));
    }
    if (function->flags & BUFFERS) {
        MUST(MPI_Buffer_attach(attached, sizeof attached));
        MUST(MPI_Comm_attach_buffer(comm, attached_comm, sizeof attached_comm));
        MUST(MPI_Session_attach_buffer((MPI_Session)good[K_session], attached_session, sizeof attached_session));
    }
    if (function->flags & STARTS) MUST(MPI_Win_post((MPI_Group)good[K_group], 0, (MPI_Win)good[K_win]));
}

static void rows_of(const struct function *function)
{
    static char first[ARGUMENTS][2048], text[2048];
    int choices[ARGUMENTS] = {0}, first_wrong[ARGUMENTS] = {0}, count = 0;
    snprintf(now, sizeof now, "%s", function->name);
    prepare(function);
    answer(function, choices, 1, text, sizeof text);
    printf("%s -> %s\n", now, text);
    renew();
    for (int i = 0; i < ARGUMENTS && function->arguments[i].name; i++) {
        const struct argument *argument = &function->arguments[i];
        for (int k = 0; k < VALUES && argument->bad[k]; k++) {
            choices[i] = k + 1;
            snprintf(now, sizeof now, "%s %s=%s", function->name, argument->name, argument->bad[k]);
            // Some constants are not bad, such as MPI_STATUS_IGNORE.
            if (strncmp(argument->bad[k], "MPI_STATUS", 10) == 0) prepare(function);
            answer(function, choices, strncmp(argument->bad[k], "MPI_", 4) == 0, text, sizeof text);
            printf("%s -> %s\n", now, text);
            fflush(stdout);
            if (!first_wrong[i] && strncmp(text, "MPI_SUCCESS", 11)) {
                first_wrong[i] = k + 1;
                strcpy(first[i], text);
            }
        }
        choices[i] = 0;
        count++;
    }
    int pairs = 0;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) {
            if (!first_wrong[i] || !first_wrong[j] || !strcmp(first[i], first[j])) continue;
            const struct argument *a = &function->arguments[i], *b = &function->arguments[j];
            choices[i] = first_wrong[i];
            choices[j] = first_wrong[j];
            snprintf(now, sizeof now, "%s %s=%s %s=%s", function->name, a->name, a->bad[choices[i] - 1], b->name,
                     b->bad[choices[j] - 1]);
            answer(function, choices, 0, text, sizeof text);
            if (!pairs++) printf("%s pairs ->", function->name);
            const char *which = !strcmp(text, first[i]) ? a->name : !strcmp(text, first[j]) ? b->name : text;
            printf(" %s+%s: %.*s;", a->name, b->name, (int)strcspn(which, ":"), which);
            fflush(stdout);
            choices[i] = choices[j] = 0;
        }
    if (pairs) printf("\n");
}

int main(int argc, char **argv)
{
    static char stack[65536];
    int provided;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE, SIGALRM};
    for (int i = 0; i < COUNT(signals); i++) sigaction(signals[i], &action, NULL);
    memset(long_text, 'x', sizeof long_text - 1);

    MPI_Init(NULL, NULL);
    MUST(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    make_objects();
    renew();
    make_freed();
    for (int i = 0; i < COUNT(functions); i++)
        if (argc < 2 || strstr(functions[i].name, argv[1])) rows_of(&functions[i]);
    for (int i = 0; i < COUNT(values); i++) printf("%s -> %s\n", values[i].name, values[i].is_right() ? "right" : "wrong");
    rows_of_callbacks();
    MPI_Pcontrol(1);
    printf("end\n");
    fflush(stdout);
    // Calls that succeeded have left messages and requests behind.
    MPI_Abort(MPI_COMM_WORLD, 0);
    return 0;
}
