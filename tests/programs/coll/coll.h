// What the programs for collectives share: every function in its six forms through one line, communicators of
// both kinds, and buffers whose layout is a datatype and whose gaps are watched.
//
// A case sets `form` and runs CASE(Bcast, bcast, prepare, verify, arguments). For a persistent request the buffers are
// prepared after the request was made and again before each start. `what` describes the case for messages.
#ifndef COLL_H
#define COLL_H

#include <sched.h>
#include <stdarg.h>

#include "../check.h"

enum { BLOCKING, BLOCKING_C, NONBLOCKING, NONBLOCKING_C, PERSISTENT, PERSISTENT_C, FORMS };
static const char *const form_names[] CHECK_UNUSED = {"blocking",      "blocking _c", "nonblocking",
                                                      "nonblocking _c", "persistent",  "persistent _c"};

static int form CHECK_UNUSED, turn CHECK_UNUSED;
static MPI_Request request CHECK_UNUSED;
static char what[200] CHECK_UNUSED;

#define WRONG(...)                                           \
    do {                                                     \
        char wrong_[300];                                    \
        snprintf(wrong_, sizeof wrong_, __VA_ARGS__);        \
        CHECK_FAIL("%s, turn %d: %s", what, turn, wrong_);   \
    } while (0)

#undef OK
#define OK(call)                                                                                    \
    do {                                                                                            \
        int code_ = (call);                                                                         \
        if (code_ != MPI_SUCCESS)                                                                   \
            CHECK_FAIL("%s, turn %d: %s gave class %d: %s", what, turn, #call, check_class(code_), check_text(code_)); \
    } while (0)

// Turns of a request: a persistent one is started three times.
#define TURNS (form >= PERSISTENT ? 3 : 1)
#ifdef CHECK_NO_LARGE // for libraries without large counts
#define EACH_FORM for (form = BLOCKING; form < FORMS; form += 2)
#define LARGE_(call) abort()
#else
#define EACH_FORM for (form = BLOCKING; form < FORMS; form++)
#define LARGE_(call) OK(call)
#endif

#define PLAIN_(...) __VA_ARGS__
#define BEGIN_(Name, name, ARGS, ARGS_C)                                                                 \
    switch (form) {                                                                                      \
        case BLOCKING: OK(MPI_##Name(PLAIN_ ARGS)); break;                                               \
        case BLOCKING_C: LARGE_(MPI_##Name##_c(PLAIN_ ARGS_C)); break;                                   \
        case NONBLOCKING: OK(MPI_I##name(PLAIN_ ARGS, &request)); break;                                 \
        case NONBLOCKING_C: LARGE_(MPI_I##name##_c(PLAIN_ ARGS_C, &request)); break;                     \
        case PERSISTENT: OK(MPI_##Name##_init(PLAIN_ ARGS, MPI_INFO_NULL, &request)); break;             \
        case PERSISTENT_C: LARGE_(MPI_##Name##_init_c(PLAIN_ ARGS_C, MPI_INFO_NULL, &request)); break;   \
    }

// CASE_V has the arguments twice, because arrays of counts differ between the small and the large forms.
#define CASE_V(Name, name, prepare, verify, ARGS, ARGS_C)                  \
    do {                                                                   \
        request = MPI_REQUEST_NULL;                                        \
        for (turn = 0; turn < TURNS; turn++) {                             \
            if (form >= PERSISTENT && turn == 0) {                         \
                BEGIN_(Name, name, ARGS, ARGS_C);                          \
            }                                                              \
            prepare;                                                       \
            if (form < PERSISTENT) {                                       \
                BEGIN_(Name, name, ARGS, ARGS_C);                          \
            }                                                              \
            complete();                                                    \
            verify;                                                        \
        }                                                                  \
    } while (0)
#define CASE(Name, name, prepare, verify, ...) CASE_V(Name, name, prepare, verify, (__VA_ARGS__), (__VA_ARGS__))

// Ends what was begun, in another way every time. A nonblocking request becomes null, a persistent one stays.
CHECK_UNUSED static void complete(void) {
    static unsigned way;
    int flag = 0, index = -1, n = 0;
    if (form < NONBLOCKING) return;
    if (form >= PERSISTENT) {
        MPI_Request before = request;
        if (++way & 4)
            OK(MPI_Start(&request));
        else
            OK(MPI_Startall(1, &request));
        if (request != before) WRONG("starting changed the request");
    } else if (request == MPI_REQUEST_NULL) {
        WRONG("no request");
    }
    switch (++way % 6) {
        case 0: OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); break;
        case 1:
            for (; !flag; sched_yield()) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            break;
        case 2: OK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE)); break;
        case 3:
            for (; !flag; sched_yield()) OK(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
            break;
        case 4: OK(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE)); break;
        case 5: OK(MPI_Waitsome(1, &request, &n, &index, MPI_STATUSES_IGNORE)); break;
    }
    if (form < PERSISTENT) {
        if (request != MPI_REQUEST_NULL) WRONG("the request is not null");
    } else {
        if (request == MPI_REQUEST_NULL) WRONG("the persistent request is null");
        if (turn == TURNS - 1) OK(MPI_Request_free(&request));
    }
}

// A communicator and this process's place in it. `from`: how many processes send to this one in an all-to-all
// operation; `group`: which side of an intercommunicator, 0 or 1.
struct place {
    MPI_Comm comm;
    int inter, me, local, from, group;
    char name[24];
};

CHECK_UNUSED static struct place whole_world(void) {
    struct place p = {MPI_COMM_WORLD, 0, rank, size, size, 0, "world"};
    return p;
}

// All processes, in reverse order.
CHECK_UNUSED static struct place backwards(void) {
    struct place p = {MPI_COMM_NULL, 0, size - 1 - rank, size, size, 0, "backwards"};
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &p.comm));
    return p;
}

// An intercommunicator: the first `left` processes, and the others.
CHECK_UNUSED static struct place between(int left) {
    struct place p = {.inter = 1, .group = rank >= left};
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, p.group, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, p.group ? 0 : left, 7, &p.comm));
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_rank(p.comm, &p.me));
    OK(MPI_Comm_size(p.comm, &p.local));
    OK(MPI_Comm_remote_size(p.comm, &p.from));
    snprintf(p.name, sizeof p.name, "%d+%d", left, size - left);
    return p;
}

// Many processes on few processors need long: they try every second length, and which these are changes with the form.
CHECK_UNUSED static int skip(int l) { return size > 5 && (l + form + size) % 2; }

// Whether the long messages have their turn, in this form and with this communicator.
CHECK_UNUSED static int long_ones(const struct place *p) {
    return p->inter ? form == NONBLOCKING : form == BLOCKING || form == NONBLOCKING_C || form == PERSISTENT;
}

// Calls f with every kind of communicator that this number of processes allows.
CHECK_UNUSED static void everywhere(void (*f)(const struct place *)) {
    struct place p = whole_world();
    f(&p);
    p = backwards();
    f(&p);
    OK(MPI_Comm_free(&p.comm));
    int left[3] = {1, size / 2, size - 1};
    for (int i = 0; i < (size > 5 ? 2 : 3); i++) {
        if (left[i] < 1 || left[i] >= size || (i && left[i] == left[i - 1])) continue;
        p = between(left[i]);
        f(&p);
        OK(MPI_Comm_free(&p.comm));
    }
}

// The root of a one-to-all or all-to-one operation. On an intercommunicator, root `r` is in group
// `side`.
struct roles {
    int argument;   // what to pass as root
    int is_root;    // this process is the root
    int takes_part; // this process is one of the many: it sends to the root, or receives from it
    int many;       // how many these are, as the root sees them
};

CHECK_UNUSED static struct roles roles(const struct place *p, int side, int r) {
    struct roles o = {r, !p->inter && p->me == r, 1, p->from};
    if (p->inter && p->group == side) {
        o.is_root = p->me == r;
        o.takes_part = 0;
        o.argument = o.is_root ? MPI_ROOT : MPI_PROC_NULL;
    }
    return o;
}

// Number of roots to try: all, on both sides.
CHECK_UNUSED static int roots(const struct place *p) { return p->inter ? size : p->local; }

// Root number i as (side, rank).
CHECK_UNUSED static void root_at(const struct place *p, int i, int *side, int *r) {
    int left = p->inter && p->group ? p->from : p->local;
    *side = p->inter && i >= left;
    *r = *side ? i - left : i;
}

// What process `from` of group `group` sends to `to` as number i, in this turn.
CHECK_UNUSED static int item(int group, int from, int to, long i) {
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)(from + 1) * 0xbf58476d1ce4e5b9u +
                 (uint64_t)(to + 1) * 0x94d049bb133111ebu + (uint64_t)(group + 2 * turn) * 0xd6e8feb86659fd93u;
    return (int)((x ^ x >> 31) & 0x7fffffff);
}

// Layouts of ints. An element has `per` ints, at these places, and the next element is `extent` ints further.
struct kind {
    MPI_Datatype type;
    int per, extent, at[4];
};
enum { PLAIN, GAPS, KINDS_OF_ONE, FOUR = KINDS_OF_ONE, VECTOR, RESIZED, STRUCT, BACKWARD, KINDS };
static struct kind kinds[KINDS];

CHECK_UNUSED static void make_kinds(void) {
    MPI_Datatype four, t;
    int one[4] = {1, 1, 1, 1};
    MPI_Aint places[4] = {12, 0, 4, 20};
    MPI_Datatype ints[4] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    kinds[PLAIN] = (struct kind){MPI_INT, 1, 1, {0}};
    OK(MPI_Type_create_resized(MPI_INT, -4, 12, &t));
    kinds[GAPS] = (struct kind){t, 1, 3, {0}};
    OK(MPI_Type_contiguous(4, MPI_INT, &four));
    kinds[FOUR] = (struct kind){four, 4, 4, {0, 1, 2, 3}};
    OK(MPI_Type_vector(2, 2, 3, MPI_INT, &t));
    kinds[VECTOR] = (struct kind){t, 4, 5, {0, 1, 3, 4}};
    OK(MPI_Type_create_resized(four, -8, 28, &t));
    kinds[RESIZED] = (struct kind){t, 4, 7, {0, 1, 2, 3}};
    OK(MPI_Type_create_struct(4, one, places, ints, &t));
    kinds[STRUCT] = (struct kind){t, 4, 6, {3, 0, 1, 5}};
    OK(MPI_Type_vector(4, 1, -2, MPI_INT, &t));
    kinds[BACKWARD] = (struct kind){t, 4, 7, {0, -2, -4, -6}};
    for (int i = 1; i < KINDS; i++) OK(MPI_Type_commit(&kinds[i].type));
}

CHECK_UNUSED static void free_kinds(void) {
    for (int i = 1; i < KINDS; i++) OK(MPI_Type_free(&kinds[i].type));
}

// A kind for blocks of n ints, another for every `choice`.
CHECK_UNUSED static int kind_for(long n, int choice) {
    return choice < 0 ? PLAIN : n % 4 ? choice % KINDS_OF_ONE : choice % KINDS;
}

// Memory for `elements` of a kind, with a margin on both sides.
enum { MARGIN = 16, UNTOUCHED = 0x5a5a5a5a };
struct image {
    int *memory, *base;
    long ints;
    int kind;
};

CHECK_UNUSED static struct image new_image(int kind, long elements) {
    struct image m = {.kind = kind, .ints = elements * kinds[kind].extent + 2 * MARGIN};
    m.memory = get_memory((size_t)m.ints * sizeof(int));
    m.base = m.memory + MARGIN;
    for (long i = 0; i < m.ints; i++) m.memory[i] = UNTOUCHED;
    return m;
}

CHECK_UNUSED static void wipe(struct image *m) {
    for (long i = 0; i < m->ints; i++) m->memory[i] = UNTOUCHED;
}

CHECK_UNUSED static void drop(struct image *m) {
    free(m->memory);
    m->memory = m->base = NULL;
}

// Int number i of the data that starts at this element.
CHECK_UNUSED static int *spot(const struct image *m, long element, long i) {
    const struct kind *k = &kinds[m->kind];
    return m->base + (element + i / k->per) * k->extent + k->at[i % k->per];
}

// The address of an element; elements of n ints.
CHECK_UNUSED static int *address(const struct image *m, long element) { return m->base + element * kinds[m->kind].extent; }
CHECK_UNUSED static long elements(int kind, long n) { return n / kinds[kind].per; }

// Puts what `from` sends to `to` there.
CHECK_UNUSED static void put(struct image *m, long element, long n, int group, int from, int to) {
    const struct kind k = kinds[m->kind];
    int *at = m->base + element * k.extent;
    for (long i = 0; i < n; at += k.extent)
        for (int j = 0; j < k.per; j++, i++) at[k.at[j]] = item(group, from, to, i);
}

// Both are equal, gaps and margins included.
CHECK_UNUSED static void same(const struct image *got, const struct image *expected) {
    if (!memcmp(got->memory, expected->memory, (size_t)got->ints * sizeof(int))) return;
    for (long i = 0; i < got->ints; i++)
        if (got->memory[i] != expected->memory[i]) {
            WRONG("int %ld of the buffer (0 is its start, kind %d) is %#x, not %#x", i - MARGIN, got->kind,
                  got->memory[i], expected->memory[i]);
            return;
        }
}

CHECK_UNUSED static void describe(const char *format, ...) __attribute__((format(printf, 1, 2)));
CHECK_UNUSED static void describe(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int at = snprintf(what, sizeof what, "%s ", form_names[form]);
    vsnprintf(what + at, sizeof what - (size_t)at, format, list);
    va_end(list);
}

#endif
