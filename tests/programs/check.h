// What the test programs share: assertions that name the place, the rank and both values, message
// patterns, and a few measures of the process. A failed check prints one line and aborts the job;
// with CHECK_KEEP_GOING set in the environment it goes on and the program exits 1 at the end, which
// shows all failures of a table at once. The programs use nothing but MPI and POSIX, so they run
// against any MPI library; -DCHECK_NO_TEXT leaves out what the standard leaves to the library's
// own wording.
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CHECK_UNUSED __attribute__((unused))

// Set by start(); -1 before.
static int rank CHECK_UNUSED = -1;
static int size CHECK_UNUSED = -1;

static void check_exit_1(void) { _exit(1); }

static void check_failed(void) {
    static int registered;
    fflush(stdout);
    if (getenv("CHECK_KEEP_GOING")) {
        if (!registered++) atexit(check_exit_1);
        return;
    }
    int up = 0, down = 0;
    MPI_Initialized(&up);
    MPI_Finalized(&down);
    if (up && !down) MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

#define CHECK_FAIL(...)                                                       \
    do {                                                                      \
        char text_[1024];                                                     \
        snprintf(text_, sizeof text_, __VA_ARGS__);                           \
        fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, text_); \
        check_failed();                                                       \
    } while (0)

#define CHECK(cond)                                   \
    do {                                              \
        if (!(cond)) CHECK_FAIL("not true: %s", #cond); \
    } while (0)

#define CHECK_EQ(a, b)                                                              \
    do {                                                                            \
        long long a_ = (long long)(a), b_ = (long long)(b);                         \
        if (a_ != b_) CHECK_FAIL("%s is %lld, not %s = %lld", #a, a_, #b, b_);      \
    } while (0)

// The call succeeded. For calls made under MPI_ERRORS_RETURN.
#define OK(call)                                                              \
    do {                                                                      \
        int code_ = (call);                                                   \
        if (code_ != MPI_SUCCESS)                                             \
            CHECK_FAIL("%s gave class %d: %s", #call, check_class(code_), check_text(code_)); \
    } while (0)

#define CHECK_CLASS(call, expected)                                                        \
    do {                                                                                   \
        int code_ = (call);                                                                \
        if (check_class(code_) != (expected))                                              \
            CHECK_FAIL("%s gave class %d, not %s (%d): %s", #call, check_class(code_), #expected, \
                       (expected), check_text(code_));                                     \
    } while (0)

#ifdef CHECK_NO_TEXT
#define CHECK_TEXT(code, part) ((void)(code), (void)(part))
#else
#define CHECK_TEXT(code, part)                                                             \
    do {                                                                                   \
        const char *part_ = (part);                                                        \
        const char *got_ = check_text(code);                                               \
        if (!strstr(got_, part_)) CHECK_FAIL("\"%s\" does not say \"%s\"", got_, part_);   \
    } while (0)
#endif

// A failing call: its class, and that the text names the function.
#define CHECK_ERROR(call, expected, name)   \
    do {                                    \
        int error_ = (call);                \
        if (check_class(error_) != (expected)) \
            CHECK_FAIL("%s gave class %d, not %s (%d): %s", #call, check_class(error_), #expected, \
                       (expected), check_text(error_)); \
        else                                \
            CHECK_TEXT(error_, name);       \
    } while (0)

// The n bytes at buf are what fill() wrote with this seed.
#define CHECK_PATTERN(buf, n, seed)                                                       \
    do {                                                                                  \
        size_t n_ = (size_t)(n), at_ = first_difference((buf), n_, (unsigned)(seed));     \
        if (at_ != n_)                                                                    \
            CHECK_FAIL("byte %zu of %zu of %s (seed %u) is wrong", at_, n_, #buf, (unsigned)(seed)); \
    } while (0)

// The n bytes at buf all have this value.
#define CHECK_BYTES(buf, n, value)                                                        \
    do {                                                                                  \
        for (size_t i_ = 0; i_ < (size_t)(n); i_++)                                       \
            if (((const unsigned char *)(buf))[i_] != (unsigned char)(value)) {           \
                CHECK_FAIL("byte %zu of %s changed", i_, #buf);                           \
                break;                                                                    \
            }                                                                             \
    } while (0)

// What an empty status must say.
#define CHECK_EMPTY(status)                          \
    do {                                             \
        int count_ = -1, cancelled_ = -1;            \
        CHECK_EQ((status).MPI_SOURCE, MPI_ANY_SOURCE); \
        CHECK_EQ((status).MPI_TAG, MPI_ANY_TAG);     \
        MPI_Get_count(&(status), MPI_BYTE, &count_); \
        CHECK_EQ(count_, 0);                         \
        MPI_Test_cancelled(&(status), &cancelled_);  \
        CHECK_EQ(cancelled_, 0);                     \
    } while (0)

// A received message: where from, which tag, how many bytes.
#define CHECK_STATUS(status, source, tag, bytes)           \
    do {                                                   \
        MPI_Count count_ = -1;                             \
        CHECK_EQ((status).MPI_SOURCE, source);             \
        CHECK_EQ((status).MPI_TAG, tag);                   \
        MPI_Get_count_c(&(status), MPI_BYTE, &count_);     \
        CHECK_EQ(count_, bytes);                           \
    } while (0)

CHECK_UNUSED static int check_class(int code) {
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

CHECK_UNUSED static const char *check_text(int code) {
    static __thread char text[MPI_MAX_ERROR_STRING + 1];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "(no text)");
    return text;
}

CHECK_UNUSED static uint64_t pattern_word(uint64_t index, unsigned seed) {
    uint64_t x = (index + 1) * 0x9e3779b97f4a7c15u + (uint64_t)seed * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 29);
}

CHECK_UNUSED static void fill(void *buf, size_t n, unsigned seed) {
    size_t words = n / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t word = pattern_word(i, seed);
        memcpy((char *)buf + 8 * i, &word, 8);
    }
    uint64_t word = pattern_word(words, seed);
    memcpy((char *)buf + 8 * words, &word, n % 8);
}

CHECK_UNUSED static size_t first_difference(const void *buf, size_t n, unsigned seed) {
    size_t words = n / 8, i = 0;
    for (; i < words; i++) {
        uint64_t word = pattern_word(i, seed);
        if (memcmp((const char *)buf + 8 * i, &word, 8)) break;
    }
    uint64_t word = pattern_word(i, seed);
    for (size_t at = 8 * i; at < n; at++)
        if (((const char *)buf)[at] != ((const char *)&word)[at - 8 * i]) return at;
    return n;
}

CHECK_UNUSED static void *get_memory(size_t n) {
    void *memory = malloc(n ? n : 1);
    if (!memory) CHECK_FAIL("no memory for %zu bytes", n);
    return memory;
}

CHECK_UNUSED static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t)) {
    }
}

CHECK_UNUSED static double cpu_seconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

// Whether this process runs in valgrind, which has memory of its own.
CHECK_UNUSED static int in_valgrind(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "/vgpreload_");
}

// Resident memory of this process, in KiB; in valgrind always the same.
CHECK_UNUSED static long resident_kib(void) {
    if (in_valgrind()) return 0;
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) CHECK_FAIL("cannot read /proc/self/statm");
    if (file) fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// What libfabric may take for itself over time, in KiB: its pools grow as they are used.
CHECK_UNUSED static long provider_kib(void) {
    const char *net = getenv("OXMPI_NET");
    return net && strncmp(net, "ofi", 3) == 0 ? 65536 : 0;
}

// Whether long messages to other hosts are read from the memory of the sender.
CHECK_UNUSED static int are_read(void) { return provider_kib() != 0; }

CHECK_UNUSED static int tag_upper_bound(void) {
    int *value = NULL, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
    if (!found) CHECK_FAIL("MPI_COMM_WORLD has no MPI_TAG_UB");
    return found ? *value : 32767;
}

CHECK_UNUSED static void start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

CHECK_UNUSED static void start_threads(int *argc, char ***argv) {
    int provided = -1;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
}

// Errors come back as codes from here on.
CHECK_UNUSED static void return_errors(void) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

// The rank of the first process of the world on this host: one number for each host. Every process must call it.
CHECK_UNUSED static int host_number(void) {
    MPI_Comm near;
    int first = -1, world = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world, MPI_INFO_NULL, &near);
    MPI_Allreduce(&world, &first, 1, MPI_INT, MPI_MIN, near);
    MPI_Comm_free(&near);
    return first;
}

// Whether the processes of the world are on several hosts. Every process must call it.
CHECK_UNUSED static int on_hosts(void) {
    int own = host_number(), most = 0;
    MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return most > 0;
}

// Whether two ranks of the world are on one host. Every process must call it.
CHECK_UNUSED static int on_one_host(int a, int b) {
    int of_a = host_number(), of_b = of_a;
    MPI_Bcast(&of_a, 1, MPI_INT, a, MPI_COMM_WORLD);
    MPI_Bcast(&of_b, 1, MPI_INT, b, MPI_COMM_WORLD);
    return of_a == of_b;
}

CHECK_UNUSED static int finish(void) {
    MPI_Finalize();
    return 0;
}

#endif
