// Every collective call, blocking, nonblocking and persistent, with arguments of which one is wrong on rank 1.
#include "../check.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, MODES };

// What a call is made with; the counts of all blocks are equal.
struct call {
    const char *function;
    int mode, count, root;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
};

static int sent[64], got[64], others[64];

static int is(const char *name, const char *what) { return strcmp(name, what) == 0; }

static void finish_request(int mode, MPI_Request *request) {
    if (mode == PERSISTENT) MPI_Start(request);
    if (mode != BLOCKING) MPI_Wait(request, MPI_STATUS_IGNORE);
    if (mode == PERSISTENT) MPI_Request_free(request);
}

#define FORMS(name, inner, ...)                                                          \
    if (is(call.function, #name)) {                                                      \
        if (call.mode == BLOCKING) MPI_##name(__VA_ARGS__);                              \
        if (call.mode == NONBLOCKING) MPI_I##inner(__VA_ARGS__, &request);               \
        if (call.mode == PERSISTENT) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request); \
        finish_request(call.mode, &request);                                             \
    }

static void perform(struct call call, int *result) {
    MPI_Request request = MPI_REQUEST_NULL;
    int counts[8], places[8], bytes[8], count = call.count, root = call.root;
    MPI_Datatype types[8], type = call.type;
    MPI_Comm comm = call.comm;
    for (int i = 0; i < 8; i++) {
        counts[i] = count;
        places[i] = 4 * i;
        bytes[i] = 16 * i;
        types[i] = type;
    }
    FORMS(Barrier, barrier, comm)
    FORMS(Bcast, bcast, sent, count, type, root, comm)
    FORMS(Gather, gather, sent, count, type, result, count, type, root, comm)
    FORMS(Gatherv, gatherv, sent, count, type, result, counts, places, type, root, comm)
    FORMS(Scatter, scatter, sent, count, type, result, count, type, root, comm)
    FORMS(Scatterv, scatterv, sent, counts, places, type, result, count, type, root, comm)
    FORMS(Allgather, allgather, sent, count, type, result, count, type, comm)
    FORMS(Allgatherv, allgatherv, sent, count, type, result, counts, places, type, comm)
    FORMS(Alltoall, alltoall, sent, count, type, result, count, type, comm)
    FORMS(Alltoallv, alltoallv, sent, counts, places, type, result, counts, places, type, comm)
    FORMS(Alltoallw, alltoallw, sent, counts, bytes, types, result, counts, bytes, types, comm)
    FORMS(Reduce, reduce, sent, result, count, type, call.op, root, comm)
    FORMS(Allreduce, allreduce, sent, result, count, type, call.op, comm)
    FORMS(Reduce_scatter, reduce_scatter, sent, result, counts, type, call.op, comm)
    FORMS(Reduce_scatter_block, reduce_scatter_block, sent, result, count, type, call.op, comm)
    FORMS(Scan, scan, sent, result, count, type, call.op, comm)
    FORMS(Exscan, exscan, sent, result, count, type, call.op, comm)
}

// The mistake, if there is one, is on rank 1, or on the last rank if that has not come.
static void act(const char *mistake, const char *function, int mode, int wrong) {
    struct call call = {function, mode, 2, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD};
    struct call other = {is(function, "Bcast") ? "Gather" : "Bcast", mode, 2, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD};
    int mine = wrong && rank == 1;
    if (is(mistake, "missing")) {
        perform(call, got);
        if (!wrong || rank < size - 1) perform(call, got);
        return;
    }
    if (is(mistake, "orders") || is(mistake, "comm")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &other.comm);
        other.function = function;
        if (is(mistake, "comm")) {
            if (mine) call.comm = other.comm;
            perform(call, got);
        } else {
            perform(mine ? other : call, got);
            perform(mine ? call : other, others);
        }
        MPI_Comm_free(&other.comm);
        return;
    }
    if (is(mistake, "root") && mine) call.root = 1;
    if (is(mistake, "op") && mine) call.op = MPI_MAX;
    if (is(mistake, "count") && mine) call.count = 3;
    if (is(mistake, "type") && mine) call.type = MPI_FLOAT;
    if (is(mistake, "call")) {
        perform(mine ? other : call, got);
        perform(mine ? call : other, others);
    } else {
        perform(call, got);
    }
    if (!wrong && is(function, "Allreduce") && call.op == MPI_SUM) CHECK_EQ(got[1], 2 * size);
}

CHECK_UNUSED static const char *const MISTAKES[] = {"missing", "orders", "comm", "root", "op", "count", "type", "call"};
CHECK_UNUSED static const char *const FUNCTIONS[] = {
    "Barrier",   "Bcast",     "Gather", "Gatherv",   "Scatter",        "Scatterv",             "Allgather", "Allgatherv", "Alltoall",
    "Alltoallv", "Alltoallw", "Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan",      "Exscan"};

static void prepare(void) {
    for (int i = 0; i < 64; i++) sent[i] = i % 4 * 2;
}
