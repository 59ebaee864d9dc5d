// ranks: 1 2
// Every argument error of the receiving and probing functions, in both count widths.
#include "../check.h"

static int value, upper;
static MPI_Comm world;
static MPI_Datatype raw, freed;

typedef struct {
    const char *what;
    int class;
    void *buf;
    int count;
    MPI_Datatype type;
    int source, tag;
    MPI_Comm comm;
} Case;

// The receive in one of its forms, by number; the name comes back.
static int receive(int form, const Case *c, MPI_Request *r, const char **name) {
    MPI_Status status;
    switch (form) {
    case 0: *name = "MPI_Recv"; return MPI_Recv(c->buf, c->count, c->type, c->source, c->tag, c->comm, &status);
    case 1: *name = "MPI_Recv"; return MPI_Recv_c(c->buf, c->count, c->type, c->source, c->tag, c->comm, &status);
    case 2: *name = "MPI_Irecv"; return MPI_Irecv(c->buf, c->count, c->type, c->source, c->tag, c->comm, r);
    case 3: *name = "MPI_Irecv"; return MPI_Irecv_c(c->buf, c->count, c->type, c->source, c->tag, c->comm, r);
    case 4: *name = "MPI_Recv_init"; return MPI_Recv_init(c->buf, c->count, c->type, c->source, c->tag, c->comm, r);
    case 5: *name = "MPI_Recv_init"; return MPI_Recv_init_c(c->buf, c->count, c->type, c->source, c->tag, c->comm, r);
    default: return -1;
    }
}

static void receives(void) {
    const Case cases[] = {
        {"count -1", MPI_ERR_COUNT, &value, -1, MPI_INT, 0, 1, world},
        {"null datatype", MPI_ERR_TYPE, &value, 1, MPI_DATATYPE_NULL, 0, 1, world},
        {"datatype not committed", MPI_ERR_TYPE, &value, 1, raw, 0, 1, world},
        {"datatype freed", MPI_ERR_TYPE, &value, 1, freed, 0, 1, world},
        {"source is the size", MPI_ERR_RANK, &value, 1, MPI_INT, size, 1, world},
        {"source negative", MPI_ERR_RANK, &value, 1, MPI_INT, -77, 1, world},
        {"source MPI_ROOT", MPI_ERR_RANK, &value, 1, MPI_INT, MPI_ROOT, 1, world},
        {"source MPI_UNDEFINED", MPI_ERR_RANK, &value, 1, MPI_INT, MPI_UNDEFINED, 1, world},
        {"source not in the small communicator", MPI_ERR_RANK, &value, 1, MPI_INT, 1, 1, MPI_COMM_SELF},
        {"tag negative", MPI_ERR_TAG, &value, 1, MPI_INT, 0, -77, world},
        {"tag above the bound", MPI_ERR_TAG, &value, 1, MPI_INT, 0, upper == INT_MAX ? -5 : upper + 1, world},
        {"null communicator", MPI_ERR_COMM, &value, 1, MPI_INT, 0, 1, MPI_COMM_NULL},
        {"null buffer", MPI_ERR_BUFFER, NULL, 1, MPI_INT, 0, 1, world},
        {"MPI_IN_PLACE as buffer", MPI_ERR_BUFFER, MPI_IN_PLACE, 1, MPI_INT, 0, 1, world},
        {"count -1 from nobody", MPI_ERR_COUNT, &value, -1, MPI_INT, MPI_PROC_NULL, 1, world},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int form = 0; form < 6; form++) {
            MPI_Request r = MPI_REQUEST_NULL;
            const char *name = "";
            int code = receive(form, &cases[i], &r, &name);
            if (check_class(code) != cases[i].class)
                CHECK_FAIL("%s (form %d), %s: class %d, not %d: %s", name, form, cases[i].what, check_class(code),
                           cases[i].class, check_text(code));
            else
                CHECK_TEXT(code, name);
            CHECK(r == MPI_REQUEST_NULL);
        }
    CHECK_ERROR(MPI_Irecv(&value, 1, MPI_INT, 0, 1, world, NULL), MPI_ERR_ARG, "MPI_Irecv");
    CHECK_ERROR(MPI_Irecv_c(&value, 1, MPI_INT, 0, 1, world, NULL), MPI_ERR_ARG, "MPI_Irecv");
    CHECK_ERROR(MPI_Recv_init(&value, 1, MPI_INT, 0, 1, world, NULL), MPI_ERR_ARG, "MPI_Recv_init");
    CHECK_ERROR(MPI_Recv_init_c(&value, 1, MPI_INT, 0, 1, world, NULL), MPI_ERR_ARG, "MPI_Recv_init");
}

static int probe(int form, int source, int tag, MPI_Comm comm, const char **name) {
    int flag = 0;
    MPI_Message message;
    MPI_Status status;
    switch (form) {
    case 0: *name = "MPI_Probe"; return MPI_Probe(source, tag, comm, &status);
    case 1: *name = "MPI_Iprobe"; return MPI_Iprobe(source, tag, comm, &flag, &status);
    case 2: *name = "MPI_Mprobe"; return MPI_Mprobe(source, tag, comm, &message, &status);
    default: *name = "MPI_Improbe"; return MPI_Improbe(source, tag, comm, &flag, &message, &status);
    }
}

static void probes(void) {
    const struct {
        int class, source, tag;
        MPI_Comm comm;
    } cases[] = {
        {MPI_ERR_RANK, size, 1, world},
        {MPI_ERR_RANK, -77, 1, world},
        {MPI_ERR_RANK, MPI_ROOT, 1, world},
        {MPI_ERR_TAG, 0, -77, world},
        {MPI_ERR_TAG, 0, upper == INT_MAX ? -5 : upper + 1, world},
        {MPI_ERR_COMM, 0, 1, MPI_COMM_NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int form = 0; form < 4; form++) {
            const char *name = "";
            int code = probe(form, cases[i].source, cases[i].tag, cases[i].comm, &name);
            if (check_class(code) != cases[i].class)
                CHECK_FAIL("%s, case %zu: class %d, not %d: %s", name, i, check_class(code), cases[i].class, check_text(code));
            else
                CHECK_TEXT(code, name);
        }
    int flag = 0;
    MPI_Message message;
    CHECK_ERROR(MPI_Iprobe(0, 1, world, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_Iprobe");
    CHECK_ERROR(MPI_Mprobe(MPI_PROC_NULL, 1, world, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_Mprobe");
    CHECK_ERROR(MPI_Improbe(0, 1, world, NULL, &message, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_Improbe");
    CHECK_ERROR(MPI_Improbe(0, 1, world, &flag, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_Improbe");
}

// A real message is there for each case; after the error it can still be received.
static void matched_receives(void) {
    for (int form = 0; form < 4; form++) {
        MPI_Message message, null = MPI_MESSAGE_NULL;
        MPI_Request send, r = MPI_REQUEST_NULL;
        const char *name = form < 2 ? "MPI_Mrecv" : "MPI_Imrecv";
        MPI_Isend(&form, 1, MPI_INT, rank, 9, world, &send);
        MPI_Mprobe(rank, 9, world, &message, MPI_STATUS_IGNORE);
#define MATCHED(buf, count, type, message)                                        \
    (form == 0   ? MPI_Mrecv(buf, count, type, message, MPI_STATUS_IGNORE)        \
     : form == 1 ? MPI_Mrecv_c(buf, count, type, message, MPI_STATUS_IGNORE)      \
     : form == 2 ? MPI_Imrecv(buf, count, type, message, &r)                      \
                 : MPI_Imrecv_c(buf, count, type, message, &r))
        CHECK_ERROR(MATCHED(&value, -1, MPI_INT, &message), MPI_ERR_COUNT, name);
        CHECK_ERROR(MATCHED(&value, 1, MPI_DATATYPE_NULL, &message), MPI_ERR_TYPE, name);
        CHECK_ERROR(MATCHED(&value, 1, raw, &message), MPI_ERR_TYPE, name);
        CHECK_ERROR(MATCHED(&value, 1, freed, &message), MPI_ERR_TYPE, name);
        CHECK_ERROR(MATCHED(NULL, 1, MPI_INT, &message), MPI_ERR_BUFFER, name);
        CHECK_ERROR(MATCHED(MPI_IN_PLACE, 1, MPI_INT, &message), MPI_ERR_BUFFER, name);
        CHECK_ERROR(MATCHED(&value, 1, MPI_INT, &null), MPI_ERR_REQUEST, name);
        CHECK_ERROR(MATCHED(&value, 1, MPI_INT, NULL), MPI_ERR_ARG, name);
        if (form == 2) CHECK_ERROR(MPI_Imrecv(&value, 1, MPI_INT, &message, NULL), MPI_ERR_ARG, name);
        if (form == 3) CHECK_ERROR(MPI_Imrecv_c(&value, 1, MPI_INT, &message, NULL), MPI_ERR_ARG, name);
        CHECK(r == MPI_REQUEST_NULL);
        value = -1;
        OK(MATCHED(&value, 1, MPI_INT, &message));
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK_EQ(value, form);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    upper = tag_upper_bound();
    world = MPI_COMM_WORLD;
    MPI_Datatype type;
    MPI_Type_contiguous(1, MPI_INT, &raw); // never committed
    MPI_Type_contiguous(1, MPI_INT, &type);
    MPI_Type_commit(&type);
    freed = type;
    MPI_Type_free(&type);
    receives();
    probes();
    matched_receives();
    MPI_Type_free(&raw);
    return finish();
}
