// Every function of MPI with bad handles: `cargo xtask fuzz-handles` writes cases.h, one call for every handle
// that a function takes, compiles this and runs it. Each answer must be an error of the class that
// fits, with a text that names the call. No call may crash, hang, or keep memory.
//
// usage: mpirun -n 1 --initial-errhandler mpi_errors_return handles CALLS SEED
// The same numbers make the same calls. Some come before MPI_Init and after MPI_Finalize.
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum kind {
    K_comm, K_datatype, K_errhandler, K_file, K_group, K_info, K_message, K_op, K_request, K_session, K_win,
    MPI_KINDS,
    K_t_enum = MPI_KINDS, K_t_cvar_handle, K_t_pvar_handle, K_t_pvar_session, K_t_event_registration,
    K_t_event_instance,
    OBJECT_KINDS,
    K_comm_keyval = OBJECT_KINDS, K_type_keyval, K_win_keyval,
    K_serial, K_fint, // an integer that stands for a handle
    KINDS
};

struct predefined {
    enum kind kind;
    uintptr_t value;
};

struct test {
    const char *function, *param;
    enum kind kind;
    int flags;
    int (*call)(uintptr_t bad);
};

enum {
    NO_CODE = 1,      // the function returns a value; that it returns is all that can be asked
    NULL_ALLOWED = 2, // the null handle is no error
    ARRAY = 4,
};

// What the cases hand over where nothing is bad.
static uintptr_t good[KINDS];
static int bad_at; // the place of the bad handle in a list of two
static int comm_keyval, type_keyval, win_keyval;
static int one_ints[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static int64_t one_counts[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

// Set for calls whose numbers are as bad as their handle; such a call may complain of either.
static int wild;
// Between Init and Finalize. Else a call may also complain of that.
static int is_up;

static uint64_t state;

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1d;
}

static int below(int n) { return (int)((random_bits() >> 32) % (uint64_t)n); }

// A count or length. A bad one is negative: with one that is too large the caller would lie about memory.
static int count_of(int plausible)
{
    const int bad[] = {-1, -2, -32766, INT_MIN};
    return wild ? bad[below(4)] : plausible;
}

// Any other number.
static int number_of(int plausible)
{
    const int bad[] = {-1, -2, MPI_PROC_NULL, MPI_ROOT, MPI_UNDEFINED, 1, 7, 1 << 20, INT_MAX, INT_MIN};
    return wild ? bad[below(10)] : plausible;
}

// Room for what the argument of this number points to; it starts with zeros.
static void *room(int argument)
{
    static int64_t rooms[32][1024];
    memset(rooms[argument], 0, 128);
    return rooms[argument];
}

static void do_nothing(void) {}

#include "cases.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define TESTS COUNT(tests)

static const uintptr_t nulls[MPI_KINDS] = {
    (uintptr_t)MPI_COMM_NULL,    (uintptr_t)MPI_DATATYPE_NULL, (uintptr_t)MPI_ERRHANDLER_NULL,
    (uintptr_t)MPI_FILE_NULL,    (uintptr_t)MPI_GROUP_NULL,    (uintptr_t)MPI_INFO_NULL,
    (uintptr_t)MPI_MESSAGE_NULL, (uintptr_t)MPI_OP_NULL,       (uintptr_t)MPI_REQUEST_NULL,
    (uintptr_t)MPI_SESSION_NULL, (uintptr_t)MPI_WIN_NULL,
};

// The class that says that a handle of this kind is bad. The standard has none for messages and error
// handlers of their own.
static const int classes[MPI_KINDS] = {
    MPI_ERR_COMM, MPI_ERR_TYPE, MPI_ERR_ERRHANDLER, MPI_ERR_FILE,    MPI_ERR_GROUP, MPI_ERR_INFO,
    MPI_ERR_REQUEST, MPI_ERR_OP, MPI_ERR_REQUEST, MPI_ERR_SESSION, MPI_ERR_WIN,
};

static int class_of(enum kind kind) { return kind < MPI_KINDS ? classes[kind] : MPI_ERR_KEYVAL; }

// The same for a function of the tool information interface.
static int tool_code_of(enum kind kind)
{
    if (kind == K_t_pvar_session) return MPI_T_ERR_INVALID_SESSION;
    return kind < MPI_KINDS ? MPI_T_ERR_INVALID : MPI_T_ERR_INVALID_HANDLE;
}

// Objects of the program's own, and the handles of those that it has freed.
enum { STALE = 16 };
static uintptr_t live[OBJECT_KINDS], stale[OBJECT_KINDS][STALE];
static int stales[OBJECT_KINDS];

static void must(int code, const char *what)
{
    if (code == MPI_SUCCESS) return;
    fprintf(stderr, "handles: %s failed\n", what);
    exit(1);
}
#define MUST(call) must(call, #call)

#define FREE(kind, type, release)                                             \
    do {                                                                      \
        type object_ = (type)live[kind];                                      \
        if (!live[kind]) break;                                               \
        MUST(release);                                                        \
        stale[kind][stales[kind]++ % STALE] = live[kind];                     \
        live[kind] = 0;                                                       \
    } while (0)

static void free_objects(void)
{
    static int number;
    FREE(K_comm, MPI_Comm, MPI_Comm_free(&object_));
    FREE(K_datatype, MPI_Datatype, MPI_Type_free(&object_));
    FREE(K_errhandler, MPI_Errhandler, MPI_Errhandler_free(&object_));
    FREE(K_file, MPI_File, MPI_File_close(&object_));
    FREE(K_group, MPI_Group, MPI_Group_free(&object_));
    FREE(K_info, MPI_Info, MPI_Info_free(&object_));
    FREE(K_message, MPI_Message, MPI_Mrecv(&number, 1, MPI_INT, &object_, MPI_STATUS_IGNORE));
    FREE(K_op, MPI_Op, MPI_Op_free(&object_));
    FREE(K_request, MPI_Request, MPI_Request_free(&object_));
    FREE(K_session, MPI_Session, MPI_Session_finalize(&object_));
    FREE(K_win, MPI_Win, MPI_Win_free(&object_));
    FREE(K_t_cvar_handle, MPI_T_cvar_handle, MPI_T_cvar_handle_free(&object_));
    FREE(K_t_pvar_handle, MPI_T_pvar_handle,
         MPI_T_pvar_handle_free((MPI_T_pvar_session)live[K_t_pvar_session], &object_));
    FREE(K_t_pvar_session, MPI_T_pvar_session, MPI_T_pvar_session_free(&object_));
    FREE(K_t_event_registration, MPI_T_event_registration, MPI_T_event_handle_free(object_, NULL, NULL));
}

static int send_and_match(MPI_Message *message)
{
    static int number;
    MPI_Request request;
    MUST(MPI_Isend(&number, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request));
    MUST(MPI_Mprobe(0, 9, MPI_COMM_SELF, message, MPI_STATUS_IGNORE));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A kind that the library does not make yet has neither live nor stale handles.
#define MAKE(kind, type, make)                                                \
    do {                                                                      \
        type object_;                                                         \
        if ((make) == MPI_SUCCESS) live[kind] = (uintptr_t)object_;           \
    } while (0)

static void make_objects(void)
{
    static int memory[16], number;
    MAKE(K_comm, MPI_Comm, MPI_Comm_dup(MPI_COMM_SELF, &object_));
    MAKE(K_datatype, MPI_Datatype, MPI_Type_contiguous(2, MPI_INT, &object_));
    MAKE(K_errhandler, MPI_Errhandler,
         MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)do_nothing, &object_));
    MAKE(K_file, MPI_File,
         MPI_File_open(MPI_COMM_SELF, "fuzz.file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &object_));
    MAKE(K_group, MPI_Group, MPI_Comm_group(MPI_COMM_SELF, &object_));
    MAKE(K_info, MPI_Info, MPI_Info_create(&object_));
    MAKE(K_message, MPI_Message, send_and_match(&object_));
    MAKE(K_op, MPI_Op, MPI_Op_create((MPI_User_function *)do_nothing, 1, &object_));
    MAKE(K_request, MPI_Request, MPI_Send_init(memory, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &object_));
    MAKE(K_session, MPI_Session, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &object_));
    MAKE(K_win, MPI_Win, MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &object_));
    MAKE(K_t_cvar_handle, MPI_T_cvar_handle, MPI_T_cvar_handle_alloc(0, NULL, &object_, &number));
    MAKE(K_t_pvar_session, MPI_T_pvar_session, MPI_T_pvar_session_create(&object_));
    MAKE(K_t_pvar_handle, MPI_T_pvar_handle,
         MPI_T_pvar_handle_alloc((MPI_T_pvar_session)live[K_t_pvar_session], 0, NULL, &object_, &number));
    MAKE(K_t_event_registration, MPI_T_event_registration, MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &object_));
    if (live[K_win]) MUST(MPI_Win_set_errhandler((MPI_Win)live[K_win], MPI_ERRORS_RETURN));
}

// What is good from here on: objects, where there are any.
static void choose_good(void)
{
    for (int kind = 0; kind < MPI_KINDS; kind++) good[kind] = live[kind] ? live[kind] : nulls[kind];
    for (int kind = MPI_KINDS; kind < OBJECT_KINDS; kind++) good[kind] = live[kind];
    if (!live[K_comm]) good[K_comm] = (uintptr_t)MPI_COMM_SELF;
    good[K_datatype] = (uintptr_t)MPI_INT;
    good[K_errhandler] = (uintptr_t)MPI_ERRORS_RETURN;
    good[K_op] = (uintptr_t)MPI_SUM;
    // That of the null process is not used up by a receive.
    good[K_message] = (uintptr_t)MPI_MESSAGE_NO_PROC;
}

// New objects, most of them in the places of the old.
static void renew(void)
{
    free_objects();
    make_objects();
    choose_good();
}

// Whether a value is a handle of this kind after all.
static int is_real(enum kind kind, uintptr_t value)
{
    const int key = (int)value;
    switch (kind) {
    // The predefined keys have numbers such as this.
    case K_comm_keyval: return key == comm_keyval || (key > 0 && key < 4096);
    case K_type_keyval: return key == type_keyval || (key > 0 && key < 4096);
    case K_win_keyval: return key == win_keyval || (key > 0 && key < 4096);
    default: break;
    }
    if (kind >= OBJECT_KINDS) return 0;
    if (kind == K_t_pvar_handle && value == (uintptr_t)MPI_T_PVAR_ALL_HANDLES) return 1;
    if (live[kind] == value && value) return 1;
    for (int i = 0; i < COUNT(predefined); i++)
        if (predefined[i].kind == kind && predefined[i].value == value) return 1;
    return 0;
}

static const char *const ways[] = {
    "zero", "null", "random bits", "small number", "predefined of another kind", "object of another kind", "stale",
    "one bit wrong", "wrong generation", "address or all ones",
};

static uintptr_t one_of(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    uintptr_t all[] = {a, b, c, d};
    return all[below(4)];
}

// A bad handle of the kind, made in a way; 0 when the way does not suit.
static int make_bad(const struct test *test, int way, uintptr_t *bad)
{
    static char heap_like[8];
    enum kind kind = test->kind;
    const int keys[] = {comm_keyval, type_keyval, win_keyval};
    const int is_key = kind >= K_comm_keyval && kind <= K_win_keyval;
    uintptr_t own = kind < OBJECT_KINDS ? live[kind] : 0, other;
    if (!own && kind < MPI_KINDS) own = nulls[kind];
    if (is_key) own = (uintptr_t)keys[kind - K_comm_keyval];
    switch (way) {
    case 0: *bad = 0; break;
    case 1:
        if ((kind >= MPI_KINDS && !is_key) || test->flags & NULL_ALLOWED) return 0;
        *bad = is_key ? (uintptr_t)MPI_KEYVAL_INVALID : nulls[kind];
        return 1;
    case 2: *bad = random_bits(); break;
    case 3: *bad = (uintptr_t)below(8192); break;
    case 4: *bad = predefined[below(COUNT(predefined))].value; break;
    case 5:
        other = is_key ? (uintptr_t)keys[below(3)] : live[below(OBJECT_KINDS)];
        if (!other) return 0;
        *bad = other;
        break;
    case 6:
        if (kind >= OBJECT_KINDS || !stales[kind]) return 0;
        *bad = stale[kind][below(stales[kind] < STALE ? stales[kind] : STALE)];
        break;
    case 7: *bad = own ^ (uintptr_t)1 << below(64); break;
    case 8: *bad = (own & 0xffffffff) | one_of(0, (uintptr_t)-1, 1, random_bits()) << 32; break;
    case 9: *bad = one_of((uintptr_t)-1, (uintptr_t)&own, (uintptr_t)heap_like, (uintptr_t)0xdeadbeefdeadbeef); break;
    }
    return !is_real(kind, *bad);
}

// What is being tried, for the message when it ends badly.
static const struct test *now;
static int now_way;
static uintptr_t now_bad;
static volatile long calls;

static void tell(const char *what)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s: %s 0x%llx (%s%s): %s\n", now ? now->function : "start",
                     now ? now->param : "", (unsigned long long)now_bad, ways[now_way], wild ? ", wild numbers" : "",
                     what);
    if (write(2, text, (size_t)n) < 0) _exit(4);
}

static void on_crash(int signal)
{
    tell(strsignal(signal));
    _exit(2);
}

static void on_tick(int signal)
{
    static long last = -1;
    static int same;
    (void)signal;
    same = last == calls ? same + 1 : 0;
    last = calls;
    if (same < 15) return;
    tell("has not returned for 15 seconds");
    _exit(3);
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static char unbuilt[TESTS];

// The class complains of a kind that the library does not make yet, so that the null handle stood where a good
// one should.
static int is_without_object(int class)
{
    for (int kind = 0; kind < MPI_KINDS; kind++)
        if (classes[kind] == class && !live[kind] && good[kind] == nulls[kind]) return 1;
    return 0;
}

// Why an answer is wrong; a null pointer when it is right.
static const char *judge(const struct test *test, int code)
{
    static char why[MPI_MAX_ERROR_STRING + 200];
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = -1, length = -1;
    if (test->flags & NO_CODE) return NULL;
    if (code == MPI_SUCCESS) return "gave MPI_SUCCESS";
    if (MPI_Error_class(code, &class) != MPI_SUCCESS || class <= MPI_SUCCESS || class >= MPI_ERR_LASTCODE) {
        snprintf(why, sizeof why, "gave %d, whose class is %d", code, class);
        return why;
    }
    if (class == MPI_ERR_UNSUPPORTED_OPERATION || class == MPI_T_ERR_NOT_SUPPORTED) unbuilt[test - tests] = 1;
    int is_tool = !strncmp(test->function, "MPI_T_", 6);
    int fits = is_tool ? class == tool_code_of(test->kind)
                       : class == MPI_ERR_UNSUPPORTED_OPERATION || class == class_of(test->kind) || is_without_object(class)
                             // The good communicator has no topology, which functions on neighbours may say first.
                             || (class == MPI_ERR_TOPOLOGY && strstr(test->function, "eighbor_"));
    int in_status = class == MPI_ERR_IN_STATUS && test->flags & ARRAY && test->kind == K_request;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS || length != (int)strlen(text) || !length) {
        snprintf(why, sizeof why, "gave %d, which has no text", code);
        return why;
    }
    if (!fits && !in_status && !wild && is_up) {
        snprintf(why, sizeof why, "gave class %d: %s", class, text);
        return why;
    }
    size_t name = strlen(test->function);
    if (!is_tool && !in_status && (strncmp(text, test->function, name) || text[name] != ':')) {
        snprintf(why, sizeof why, "the text does not name the call: %s", text);
        return why;
    }
    return NULL;
}

// Every handle bad in every way once.
enum { SWEEP = TESTS * COUNT(ways) };

static long failures;

// So many calls: the cases in turn, then the next way.
static void rounds(long wanted)
{
    static char failed[TESTS][COUNT(ways)][4];
    long end = calls + wanted;
    for (long turn = 0; calls < end && turn < 2 * wanted; turn++) {
        if (is_up && turn % 4096 == 0) renew();
        const struct test *test = &tests[turn % TESTS];
        int way = (int)(turn / TESTS % COUNT(ways));
        uintptr_t bad = 0;
        if (!make_bad(test, way, &bad)) continue;
        bad_at = below(2);
        wild = below(4) == 0;
        now = test, now_way = way, now_bad = bad;
        int code = test->call(bad);
        calls++;
        const char *why = judge(test, code);
        char *told = &failed[turn % TESTS][way][2 * is_up + wild];
        if (why && !*told) {
            *told = 1;
            failures++;
            tell(why);
        }
    }
    now = NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: handles CALLS SEED\n");
        return 1;
    }
    long wanted = atol(argv[1]);
    state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15 + 1;

    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK}, tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    static char stack[65536];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPIPE};
    for (int i = 0; i < COUNT(signals); i++) sigaction(signals[i], &crash, NULL);
    sigaction(SIGALRM, &tick, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{1, 0}, {1, 0}}, NULL);

    choose_good();
    rounds(SWEEP);
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(NULL, NULL);
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_keyval, NULL));
    MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL));
    MUST(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, NULL));
    for (int i = 0; i < 5; i++) renew();
    is_up = 1;
    rounds(SWEEP);
    long kib = resident_kib();
    rounds(wanted);
    kib = resident_kib() - kib;
    if (kib > 16 * 1024) {
        fprintf(stderr, "handles: %ld calls that failed kept %ld KiB\n", calls, kib);
        failures++;
    }
    is_up = 0;
    free_objects();
    choose_good();
    MUST(MPI_Finalize());
    rounds(SWEEP);
    int functions = 0, not_built = 0;
    for (int i = 0; i < TESTS; i++) {
        if (i && !strcmp(tests[i].function, tests[i - 1].function)) continue;
        functions++;
        not_built += unbuilt[i];
    }
    printf("handles: %d functions (%d not built) with %d handles, %ld calls, %ld KiB kept, %ld findings\n", functions,
           not_built, TESTS, calls, kib, failures);
    return failures != 0;
}
