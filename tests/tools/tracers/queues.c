// queues PID          stops a rank and prints its communicators and message queues, as its own library tells a parallel
//                     debugger that loads it
// queues PID damage   does the same again and again with memory that was damaged, and prints nothing: the library must not
//                     crash, and must end
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

// The types of the interface.
typedef unsigned long taddr;
typedef long tword;
struct basic {
    void *(*allocate)(size_t);
    void (*release)(void *);
    void (*print)(const char *);
    char *(*text)(int);
    void (*put_image)(void *, void *);
    void *(*get_image)(void *);
    void (*put_process)(void *, void *);
    void *(*get_process)(void *);
};
struct of_image {
    void (*sizes)(void *, void *);
    int (*find_function)(void *, char *, int, taddr *);
    int (*find_symbol)(void *, char *, taddr *);
    void *(*find_type)(void *, char *, int);
    int (*field)(void *, char *);
    int (*size)(void *);
};
struct of_process {
    int (*rank)(void *);
    void *(*image)(void *);
    int (*fetch)(void *, taddr, int, void *);
    void (*to_host)(void *, const void *, void *, int);
};
struct communicator {
    taddr id;
    tword rank, size;
    char name[64];
};
struct operation {
    int status;
    tword rank, global;
    int tag_wild;
    tword tag, length;
    int system_buffer;
    taddr buffer;
    tword actual_rank, actual_global, actual_tag, actual_length;
    char text[5][64];
};

static pid_t target;
static char file[4096];
static taddr base;
static void *image_info, *process_info;
static int image, process, is_damaging;
static long fetched;
static unsigned long long seed = 1;

static void fail(const char *what)
{
    fprintf(stderr, "queues: %s: %s\n", what, strerror(errno));
    exit(99);
}

static void put_image(void *of, void *info)
{
    (void)of;
    image_info = info;
}
static void *get_image(void *of)
{
    (void)of;
    return image_info;
}
static void put_process(void *of, void *info)
{
    (void)of;
    process_info = info;
}
static void *get_process(void *of)
{
    (void)of;
    return process_info;
}
static void *image_of(void *of)
{
    (void)of;
    return &image;
}

static unsigned draw(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 33;
}

static int fetch(void *of, taddr from, int bytes, void *to)
{
    (void)of;
    struct iovec here = {to, bytes}, there = {(void *)from, bytes};
    fetched += bytes;
    if (process_vm_readv(target, &here, 1, &there, 1, 0) != bytes)
        return 100;
    if (is_damaging && draw() % 40 == 0) {
        // Of a word of it, one bit, all bits, or a small number instead.
        int at = draw() % bytes & ~7, length = bytes - at < 8 ? bytes - at : 8;
        unsigned long long word = 0;
        memcpy(&word, (char *)to + at, length);
        unsigned how = draw() % 4;
        word = how == 0 ? word ^ 1ull << draw() % 64 : how == 1 ? ~0ull : how == 2 ? draw() % 1000 : word + draw();
        memcpy((char *)to + at, &word, length);
    }
    return 0;
}

static int symbol_in_file(void *of, char *wanted, taddr *to)
{
    (void)of;
    char command[5000], name[256], kind;
    unsigned long value;
    int result = 100;
    snprintf(command, sizeof command, "nm -D --defined-only '%s'", file);
    FILE *list = popen(command, "r");
    while (fscanf(list, "%lx %c %255s", &value, &kind, name) == 3)
        if (strcmp(name, wanted) == 0)
            *to = base + value, result = 0;
    pclose(list);
    return result;
}

// One symbol is looked for again and again.
static int find_symbol(void *of, char *wanted, taddr *to)
{
    static taddr known;
    if (!known && symbol_in_file(of, wanted, &known) != 0)
        return 100;
    *to = known;
    return 0;
}

static void find_library(void)
{
    char name[64], line[8192];
    snprintf(name, sizeof name, "/proc/%d/maps", target);
    FILE *maps = fopen(name, "r");
    if (!maps)
        fail(name);
    while (!base && fgets(line, sizeof line, maps))
        if (strstr(line, "libmpi_abi.so") && sscanf(line, "%lx-%*x %*s %*s %*s %*s %4095s", &base, file) != 2)
            fail("a line of maps");
    fclose(maps);
    if (!base)
        fail("the process has no libmpi_abi.so");
}

#define LOOK_UP(name) name##_ = (__typeof__(name##_))dlsym(library, #name); if (!name##_) fail(#name)

static void (*mqs_setup_basic_callbacks_)(const struct basic *);
static char *(*mqs_version_string_)(void), *(*mqs_dll_error_string_)(int);
static int (*mqs_version_compatibility_)(void), (*mqs_dll_taddr_width_)(void);
static int (*mqs_setup_image_)(void *, const struct of_image *), (*mqs_image_has_queues_)(void *, char **);
static int (*mqs_setup_process_)(void *, const struct of_process *), (*mqs_process_has_queues_)(void *, char **);
static int (*mqs_update_communicator_list_)(void *), (*mqs_setup_communicator_iterator_)(void *);
static int (*mqs_get_communicator_)(void *, struct communicator *), (*mqs_next_communicator_)(void *);
static int (*mqs_get_comm_group_)(void *, int *), (*mqs_setup_operation_iterator_)(void *, int);
static int (*mqs_next_operation_)(void *, struct operation *);
static void (*mqs_destroy_image_info_)(void *), (*mqs_destroy_process_info_)(void *);

static void load(void)
{
    taddr address;
    char path[4096] = "";
    if (symbol_in_file(NULL, "MPIR_dll_name", &address) != 0 || fetch(NULL, address, 1024, path) != 0)
        fail("MPIR_dll_name");
    printf("library %s\n", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(dlerror());
    LOOK_UP(mqs_setup_basic_callbacks);
    LOOK_UP(mqs_version_string);
    LOOK_UP(mqs_dll_error_string);
    LOOK_UP(mqs_version_compatibility);
    LOOK_UP(mqs_dll_taddr_width);
    LOOK_UP(mqs_setup_image);
    LOOK_UP(mqs_image_has_queues);
    LOOK_UP(mqs_setup_process);
    LOOK_UP(mqs_process_has_queues);
    LOOK_UP(mqs_update_communicator_list);
    LOOK_UP(mqs_setup_communicator_iterator);
    LOOK_UP(mqs_get_communicator);
    LOOK_UP(mqs_next_communicator);
    LOOK_UP(mqs_get_comm_group);
    LOOK_UP(mqs_setup_operation_iterator);
    LOOK_UP(mqs_next_operation);
    LOOK_UP(mqs_destroy_image_info);
    LOOK_UP(mqs_destroy_process_info);
    static const struct basic basic = {malloc, free, NULL, NULL, put_image, get_image, put_process, get_process};
    mqs_setup_basic_callbacks_(&basic);
    if (mqs_version_compatibility_() != 2 || mqs_dll_taddr_width_() != sizeof(taddr) || !strstr(mqs_version_string_(), "OxMPI"))
        fail("the versions");
}

static const char *const classes[] = {"send", "receive", "unexpected"};

static void show_operations(FILE *to)
{
    for (int class = 0; class < 3; class++) {
        struct operation found;
        if (mqs_setup_operation_iterator_(&process, class) != 0)
            continue;
        while (mqs_next_operation_(&process, &found) == 0) {
            fprintf(to, "  %s rank %ld (%ld) tag ", classes[class], found.rank, found.global);
            fprintf(to, found.tag_wild ? "any" : "%ld", found.tag);
            fprintf(to, " bytes %ld buffer %#lx%s status %d", found.length, found.buffer, found.system_buffer ? " system" : "", found.status);
            fprintf(to, " actual %ld %ld %ld %ld\n", found.actual_rank, found.actual_global, found.actual_tag, found.actual_length);
        }
    }
}

// The answer of the library, or what it says about the error.
static int show(FILE *to)
{
    static const struct of_image of_image = {.find_symbol = find_symbol};
    static const struct of_process of_process = {.image = image_of, .fetch = fetch};
    char *why = NULL;
    int result = mqs_setup_image_(&image, &of_image);
    if (result == 0)
        result = mqs_image_has_queues_(&image, &why);
    if (result == 0)
        result = mqs_setup_process_(&process, &of_process);
    if (result == 0)
        result = mqs_process_has_queues_(&process, &why);
    if (result == 0)
        result = mqs_update_communicator_list_(&process);
    if (result == 0)
        result = mqs_setup_communicator_iterator_(&process);
    while (result == 0) {
        struct communicator comm;
        if (mqs_get_communicator_(&process, &comm) != 0)
            break;
        if (strnlen(comm.name, 64) == 64 || comm.size < 0)
            fail("a name without end, or a negative size");
        fprintf(to, "comm %s rank %ld of %ld group", comm.name, comm.rank, comm.size);
        int *group = calloc(comm.size + 1, sizeof *group);
        if (mqs_get_comm_group_(&process, group) == 0)
            for (tword at = 0; at < comm.size; at++)
                fprintf(to, " %d", group[at]);
        free(group);
        fprintf(to, "\n");
        show_operations(to);
        result = mqs_next_communicator_(&process);
    }
    if (result > 2)
        fprintf(to, "result %d: %s\n", result, mqs_dll_error_string_(result));
    if (process_info)
        mqs_destroy_process_info_(process_info);
    mqs_destroy_image_info_(image_info);
    image_info = process_info = NULL;
    return result;
}

int main(int argc, char **argv)
{
    target = atoi(argv[1]);
    is_damaging = 0;
    if (ptrace(PTRACE_ATTACH, target, NULL, NULL) != 0 || waitpid(target, NULL, __WALL) != target)
        fail("attach");
    find_library();
    load();
    if (argc == 2) {
        int result = show(stdout);
        printf("%ld bytes were read\n", fetched);
        return result > 2;
    }
    FILE *nowhere = fopen("/dev/null", "w");
    int wrong = 0;
    is_damaging = 1;
    for (int turn = 0; turn < 3000; turn++)
        wrong += show(nowhere) > 2;
    printf("%d of 3000 were seen to be damaged\n", wrong);
    return 0;
}
