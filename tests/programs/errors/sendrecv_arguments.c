// ranks: 1 2
// Every argument error of both halves of the send-receive functions, in both count widths.
#include "../check.h"

typedef struct {
    const char *what;
    int class;
    const void *out;
    int sends;
    MPI_Datatype send_type;
    int dest, send_tag;
    void *in;
    int receives;
    MPI_Datatype receive_type;
    int source, receive_tag;
    MPI_Comm comm;
} Case;

static int two_buffers(int form, const Case *c, MPI_Request *r) {
#define ARGS c->out, c->sends, c->send_type, c->dest, c->send_tag, c->in, c->receives, c->receive_type, c->source, c->receive_tag, c->comm
    switch (form) {
    case 0: return MPI_Sendrecv(ARGS, MPI_STATUS_IGNORE);
    case 1: return MPI_Sendrecv_c(ARGS, MPI_STATUS_IGNORE);
    case 2: return MPI_Isendrecv(ARGS, r);
    default: return MPI_Isendrecv_c(ARGS, r);
    }
#undef ARGS
}

static int one_buffer(int form, const Case *c, MPI_Request *r) {
#define ARGS c->in, c->sends, c->send_type, c->dest, c->send_tag, c->source, c->receive_tag, c->comm
    switch (form) {
    case 0: return MPI_Sendrecv_replace(ARGS, MPI_STATUS_IGNORE);
    case 1: return MPI_Sendrecv_replace_c(ARGS, MPI_STATUS_IGNORE);
    case 2: return MPI_Isendrecv_replace(ARGS, r);
    default: return MPI_Isendrecv_replace_c(ARGS, r);
    }
#undef ARGS
}

static const char *const two_names[] = {"MPI_Sendrecv", "MPI_Sendrecv", "MPI_Isendrecv", "MPI_Isendrecv"};
static const char *const one_names[] = {"MPI_Sendrecv_replace", "MPI_Sendrecv_replace", "MPI_Isendrecv_replace",
                                        "MPI_Isendrecv_replace"};

static void check(int code, MPI_Request r, const Case *c, const char *name, int form) {
    if (check_class(code) != c->class)
        CHECK_FAIL("%s (form %d), %s: class %d, not %d: %s", name, form, c->what, check_class(code), c->class, check_text(code));
    else
        CHECK_TEXT(code, name);
    CHECK(r == MPI_REQUEST_NULL);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    int a = 0, b = 0, high = tag_upper_bound() == INT_MAX ? -5 : tag_upper_bound() + 1, flag = -1;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype i = MPI_INT, none = MPI_DATATYPE_NULL;
    MPI_Datatype raw;
    MPI_Type_contiguous(1, MPI_INT, &raw); // never committed
    const Case both[] = {
        {"send type not committed", MPI_ERR_TYPE, &a, 1, raw, 0, 1, &b, 1, i, 0, 1, w},
        {"send type null", MPI_ERR_TYPE, &a, 1, none, 0, 1, &b, 1, i, 0, 1, w},
        {"send count -1", MPI_ERR_COUNT, &a, -1, i, 0, 1, &b, 1, i, 0, 1, w},
        {"destination too large", MPI_ERR_RANK, &a, 1, i, size, 1, &b, 1, i, 0, 1, w},
        {"destination MPI_ANY_SOURCE", MPI_ERR_RANK, &a, 1, i, MPI_ANY_SOURCE, 1, &b, 1, i, 0, 1, w},
        {"send tag negative", MPI_ERR_TAG, &a, 1, i, 0, -77, &b, 1, i, 0, 1, w},
        {"send tag MPI_ANY_TAG", MPI_ERR_TAG, &a, 1, i, 0, MPI_ANY_TAG, &b, 1, i, 0, 1, w},
        {"send tag too large", MPI_ERR_TAG, &a, 1, i, 0, high, &b, 1, i, 0, 1, w},
        {"source too large", MPI_ERR_RANK, &a, 1, i, 0, 1, &b, 1, i, size, 1, w},
        {"source negative", MPI_ERR_RANK, &a, 1, i, 0, 1, &b, 1, i, -77, 1, w},
        {"receive tag negative", MPI_ERR_TAG, &a, 1, i, 0, 1, &b, 1, i, 0, -77, w},
        {"receive tag too large", MPI_ERR_TAG, &a, 1, i, 0, 1, &b, 1, i, 0, high, w},
        {"null communicator", MPI_ERR_COMM, &a, 1, i, 0, 1, &b, 1, i, 0, 1, MPI_COMM_NULL},
        {"receive buffer null", MPI_ERR_BUFFER, &a, 1, i, 0, 1, NULL, 1, i, 0, 1, w},
        {"receive buffer MPI_IN_PLACE", MPI_ERR_BUFFER, &a, 1, i, 0, 1, MPI_IN_PLACE, 1, i, 0, 1, w},
    };
    const Case two_only[] = {
        {"send buffer null", MPI_ERR_BUFFER, NULL, 1, i, 0, 1, &b, 1, i, 0, 1, w},
        {"send buffer MPI_IN_PLACE", MPI_ERR_BUFFER, MPI_IN_PLACE, 1, i, 0, 1, &b, 1, i, 0, 1, w},
        {"receive count -1", MPI_ERR_COUNT, &a, 1, i, 0, 1, &b, -1, i, 0, 1, w},
        {"receive type not committed", MPI_ERR_TYPE, &a, 1, i, 0, 1, &b, 1, raw, 0, 1, w},
        {"receive type null", MPI_ERR_TYPE, &a, 1, i, 0, 1, &b, 1, none, 0, 1, w},
    };
    for (int form = 0; form < 4; form++) {
        for (size_t k = 0; k < sizeof both / sizeof *both; k++) {
            MPI_Request r = MPI_REQUEST_NULL;
            check(two_buffers(form, &both[k], &r), r, &both[k], two_names[form], form);
            check(one_buffer(form, &both[k], &r), r, &both[k], one_names[form], form);
        }
        for (size_t k = 0; k < sizeof two_only / sizeof *two_only; k++) {
            MPI_Request r = MPI_REQUEST_NULL;
            check(two_buffers(form, &two_only[k], &r), r, &two_only[k], two_names[form], form);
        }
    }
    const Case fine = {"", MPI_ERR_ARG, &a, 1, i, 0, 1, &b, 1, i, 0, 1, w};
    for (int form = 2; form < 4; form++) {
        check(two_buffers(form, &fine, NULL), MPI_REQUEST_NULL, &fine, two_names[form], form);
        check(one_buffer(form, &fine, NULL), MPI_REQUEST_NULL, &fine, one_names[form], form);
    }
    // An error in one half keeps the other half from happening too.
    MPI_Barrier(w);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Type_free(&raw);
    return finish();
}
