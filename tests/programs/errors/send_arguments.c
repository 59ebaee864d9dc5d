// ranks: 1 2
// Every argument error of every sending function, in both count widths: the class, and that the text names the
// function. The error handler returns, nothing is sent, no request comes into being.
#include "../check.h"

typedef int Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int SendC(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int Start(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int StartC(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

typedef struct {
    const char *name;
    Send *send;
    SendC *send_c;
    Start *start;
    StartC *start_c;
} Function;

static const Function functions[] = {
    {"MPI_Send", MPI_Send, MPI_Send_c, NULL, NULL},
    {"MPI_Bsend", MPI_Bsend, MPI_Bsend_c, NULL, NULL},
    {"MPI_Ssend", MPI_Ssend, MPI_Ssend_c, NULL, NULL},
    {"MPI_Rsend", MPI_Rsend, MPI_Rsend_c, NULL, NULL},
    {"MPI_Isend", NULL, NULL, MPI_Isend, MPI_Isend_c},
    {"MPI_Ibsend", NULL, NULL, MPI_Ibsend, MPI_Ibsend_c},
    {"MPI_Issend", NULL, NULL, MPI_Issend, MPI_Issend_c},
    {"MPI_Irsend", NULL, NULL, MPI_Irsend, MPI_Irsend_c},
    {"MPI_Send_init", NULL, NULL, MPI_Send_init, MPI_Send_init_c},
    {"MPI_Bsend_init", NULL, NULL, MPI_Bsend_init, MPI_Bsend_init_c},
    {"MPI_Ssend_init", NULL, NULL, MPI_Ssend_init, MPI_Ssend_init_c},
    {"MPI_Rsend_init", NULL, NULL, MPI_Rsend_init, MPI_Rsend_init_c},
};

typedef struct {
    const char *what;
    int class;
    const void *buf;
    int count;
    MPI_Datatype type;
    int dest, tag;
    MPI_Comm comm;
} Case;

static void try(const Function *f, const Case *c, int wide) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code;
    if (f->send)
        code = wide ? f->send_c(c->buf, c->count, c->type, c->dest, c->tag, c->comm)
                    : f->send(c->buf, c->count, c->type, c->dest, c->tag, c->comm);
    else
        code = wide ? f->start_c(c->buf, c->count, c->type, c->dest, c->tag, c->comm, &request)
                    : f->start(c->buf, c->count, c->type, c->dest, c->tag, c->comm, &request);
    if (check_class(code) != c->class)
        CHECK_FAIL("%s%s, %s: class %d, not %d: %s", f->name, wide ? "_c" : "", c->what, check_class(code), c->class,
                   check_text(code));
    else
        CHECK_TEXT(code, f->name);
    CHECK(request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    int value = 0, flag = -1, upper = tag_upper_bound();
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype raw, freed, copy;
    MPI_Type_contiguous(1, MPI_INT, &raw); // never committed
    MPI_Type_contiguous(1, MPI_INT, &freed);
    MPI_Type_commit(&freed);
    copy = freed;
    MPI_Type_free(&freed);
    const Case cases[] = {
        {"count -1", MPI_ERR_COUNT, &value, -1, MPI_INT, 0, 1, world},
        {"count INT_MIN", MPI_ERR_COUNT, &value, INT_MIN, MPI_INT, 0, 1, world},
        {"null datatype", MPI_ERR_TYPE, &value, 1, MPI_DATATYPE_NULL, 0, 1, world},
        {"null datatype, nothing to send", MPI_ERR_TYPE, &value, 0, MPI_DATATYPE_NULL, 0, 1, world},
        {"datatype not committed", MPI_ERR_TYPE, &value, 1, raw, 0, 1, world},
        {"datatype freed", MPI_ERR_TYPE, &value, 1, copy, 0, 1, world},
        {"destination is the size", MPI_ERR_RANK, &value, 1, MPI_INT, size, 1, world},
        {"destination far too large", MPI_ERR_RANK, &value, 1, MPI_INT, INT_MAX, 1, world},
        {"destination MPI_ANY_SOURCE", MPI_ERR_RANK, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1, world},
        {"destination negative", MPI_ERR_RANK, &value, 1, MPI_INT, -77, 1, world},
        {"destination MPI_ROOT", MPI_ERR_RANK, &value, 1, MPI_INT, MPI_ROOT, 1, world},
        {"destination not in the small communicator", MPI_ERR_RANK, &value, 1, MPI_INT, 1, 1, MPI_COMM_SELF},
        {"tag negative", MPI_ERR_TAG, &value, 1, MPI_INT, 0, -77, world},
        {"tag MPI_ANY_TAG", MPI_ERR_TAG, &value, 1, MPI_INT, 0, MPI_ANY_TAG, world},
        {"tag above the bound", MPI_ERR_TAG, &value, 1, MPI_INT, 0, upper == INT_MAX ? -5 : upper + 1, world},
        {"null communicator", MPI_ERR_COMM, &value, 1, MPI_INT, 0, 1, MPI_COMM_NULL},
        {"null buffer", MPI_ERR_BUFFER, NULL, 1, MPI_INT, 0, 1, world},
        {"MPI_IN_PLACE as buffer", MPI_ERR_BUFFER, MPI_IN_PLACE, 1, MPI_INT, 0, 1, world},
        // The arguments count even where nothing would be sent.
        {"count -1 to nobody", MPI_ERR_COUNT, &value, -1, MPI_INT, MPI_PROC_NULL, 1, world},
        {"tag negative to nobody", MPI_ERR_TAG, &value, 1, MPI_INT, MPI_PROC_NULL, -77, world},
    };
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            for (int wide = 0; wide < 2; wide++) try(&functions[f], &cases[c], wide);
        // No place for the request.
        if (functions[f].start) {
            CHECK_ERROR(functions[f].start(&value, 1, MPI_INT, 0, 1, world, NULL), MPI_ERR_ARG, functions[f].name);
            CHECK_ERROR(functions[f].start_c(&value, 1, MPI_INT, 0, 1, world, NULL), MPI_ERR_ARG, functions[f].name);
        }
        // More than any memory holds: the size in bytes must not wrap round.
        MPI_Request r = MPI_REQUEST_NULL;
        static const MPI_Count huge[] = {INT64_MAX, INT64_MAX / 8 + 1, (MPI_Count)1 << 61, (MPI_Count)1 << 60};
        for (int k = 0; k < 4; k++)
            CHECK_ERROR(functions[f].send_c ? functions[f].send_c(&value, huge[k], MPI_DOUBLE, 0, 1, world)
                                            : functions[f].start_c(&value, huge[k], MPI_DOUBLE, 0, 1, world, &r),
                        MPI_ERR_COUNT, functions[f].name);
    }
    // A null buffer with nothing in it is fine.
    OK(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, world));
    MPI_Barrier(world);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Type_free(&raw);
    return finish();
}
