// ranks: 1 2
// Generalized requests: the callbacks come when the standard says, in its order, with the user's state;
// what the query sets is the status of every completing call; errors of the callbacks come back.
#include "../check.h"

typedef struct {
    int queries, frees, cancels, complete_seen;
    int elements, was_cancelled, query_code, free_code, cancel_code;
} State;

static int query(void *extra, MPI_Status *status) {
    State *s = extra;
    CHECK_EQ(s->frees, 0); // the query comes before the free
    CHECK(status != MPI_STATUS_IGNORE);
    s->queries++;
    MPI_Status_set_elements(status, MPI_INT, s->elements);
    MPI_Status_set_cancelled(status, s->was_cancelled);
    status->MPI_SOURCE = 77;
    status->MPI_TAG = 88;
    return s->query_code;
}

static int release(void *extra) {
    State *s = extra;
    s->frees++;
    return s->free_code;
}

static int cancel(void *extra, int complete) {
    State *s = extra;
    s->cancels++;
    s->complete_seen = complete;
    return s->cancel_code;
}

static MPI_Request begin(State *s) {
    MPI_Request r = MPI_REQUEST_NULL;
    memset(s, 0, sizeof *s);
    s->elements = 5;
    OK(MPI_Grequest_start(query, release, cancel, s, &r));
    CHECK(r != MPI_REQUEST_NULL);
    return r;
}

static void check_status(MPI_Status *status, int elements) {
    int count = -1;
    CHECK_EQ(status->MPI_SOURCE, 77);
    CHECK_EQ(status->MPI_TAG, 88);
    MPI_Get_elements(status, MPI_INT, &count);
    CHECK_EQ(count, elements);
    MPI_Get_count(status, MPI_INT, &count);
    CHECK_EQ(count, elements);
}

// Each completing call, with and without a status.
static void completions(int ignore) {
    for (int way = 0; way < 8; way++) {
        State s;
        MPI_Request r = begin(&s);
        MPI_Status status, *to = ignore ? MPI_STATUS_IGNORE : &status;
        int flag = -1, index = -1, count = -1;
        memset(&status, 0x11, sizeof status);
        if (way % 2) {
            OK(MPI_Test(&r, &flag, to));
            CHECK_EQ(flag, 0);
        }
        OK(MPI_Grequest_complete(r));
        CHECK_EQ(s.queries + s.frees, 0);
        switch (way) {
        case 0: OK(MPI_Wait(&r, to)); break;
        case 1: OK(MPI_Test(&r, &flag, to)); CHECK_EQ(flag, 1); break;
        case 2: OK(MPI_Waitany(1, &r, &index, to)); CHECK_EQ(index, 0); break;
        case 3: OK(MPI_Testany(1, &r, &index, &flag, to)); CHECK_EQ(index, 0); break;
        case 4: OK(MPI_Waitall(1, &r, ignore ? MPI_STATUSES_IGNORE : to)); break;
        case 5: OK(MPI_Testall(1, &r, &flag, ignore ? MPI_STATUSES_IGNORE : to)); CHECK_EQ(flag, 1); break;
        case 6: OK(MPI_Waitsome(1, &r, &count, &index, ignore ? MPI_STATUSES_IGNORE : to)); CHECK_EQ(count, 1); break;
        default: OK(MPI_Testsome(1, &r, &count, &index, ignore ? MPI_STATUSES_IGNORE : to)); CHECK_EQ(count, 1);
        }
        CHECK(r == MPI_REQUEST_NULL);
        CHECK_EQ(s.queries, 1);
        CHECK_EQ(s.frees, 1);
        CHECK_EQ(s.cancels, 0);
        if (!ignore) check_status(&status, 5);
    }
}

static void get_status(void) {
    State s;
    MPI_Request r = begin(&s);
    MPI_Status status;
    int flag = -1;
    OK(MPI_Request_get_status(r, &flag, &status));
    CHECK_EQ(flag, 0);
    CHECK_EQ(s.queries, 0);
    MPI_Grequest_complete(r);
    for (int i = 1; i <= 3; i++) {
        OK(MPI_Request_get_status(r, &flag, &status));
        CHECK_EQ(flag, 1);
        check_status(&status, 5);
        CHECK_EQ(s.queries, i);
        CHECK_EQ(s.frees, 0);
    }
    OK(MPI_Wait(&r, &status));
    check_status(&status, 5);
    CHECK_EQ(s.queries, 4);
    CHECK_EQ(s.frees, 1);
}

static void cancellation(void) {
    for (int completed = 0; completed < 2; completed++) {
        State s;
        MPI_Request r = begin(&s);
        MPI_Status status;
        int flag = -1;
        if (completed) MPI_Grequest_complete(r);
        OK(MPI_Cancel(&r));
        CHECK_EQ(s.cancels, 1);
        CHECK_EQ(!!s.complete_seen, completed);
        s.was_cancelled = !completed;
        if (!completed) MPI_Grequest_complete(r);
        OK(MPI_Wait(&r, &status));
        MPI_Test_cancelled(&status, &flag);
        CHECK_EQ(!!flag, !completed);
    }
}

// Freed before or after completion: the free callback comes with the later of the two, no query.
static void freeing(void) {
    State s;
    MPI_Request r = begin(&s), copy = r;
    OK(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL);
    CHECK_EQ(s.frees, 0);
    OK(MPI_Grequest_complete(copy));
    CHECK_EQ(s.frees, 1);
    CHECK_EQ(s.queries, 0);
    r = begin(&s);
    OK(MPI_Grequest_complete(r));
    CHECK_EQ(s.frees, 0);
    OK(MPI_Request_free(&r));
    CHECK_EQ(s.frees, 1);
    CHECK_EQ(s.queries, 0);
}

// In a list with real receives.
static void mixed(void) {
    State s[2];
    MPI_Status statuses[3];
    int value = -1;
    MPI_Request r[3] = {begin(&s[0]), MPI_REQUEST_NULL, begin(&s[1])}, send;
    s[1].elements = 9;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(&rank, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &send);
    MPI_Grequest_complete(r[2]);
    MPI_Grequest_complete(r[0]);
    OK(MPI_Waitall(3, r, statuses));
    check_status(&statuses[0], 5);
    CHECK_STATUS(statuses[1], rank, 1, (int)sizeof(int));
    check_status(&statuses[2], 9);
    CHECK_EQ(s[0].queries + s[0].frees + s[1].queries + s[1].frees, 4);
    CHECK_EQ(value, rank);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void errors(void) {
    State s;
    MPI_Status statuses[2];
    MPI_Request r = begin(&s), list[2];
    s.query_code = MPI_ERR_OTHER;
    MPI_Grequest_complete(r);
    CHECK_CLASS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    CHECK_EQ(s.frees, 1);
    r = begin(&s);
    s.free_code = MPI_ERR_NO_SPACE;
    MPI_Grequest_complete(r);
    CHECK_CLASS(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    r = begin(&s);
    s.cancel_code = MPI_ERR_IO;
    CHECK_CLASS(MPI_Cancel(&r), MPI_ERR_IO);
    s.cancel_code = MPI_SUCCESS;
    MPI_Grequest_complete(r);
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    State t;
    list[0] = begin(&s);
    list[1] = begin(&t);
    s.free_code = MPI_ERR_IO;
    MPI_Grequest_complete(list[0]);
    MPI_Grequest_complete(list[1]);
    CHECK_CLASS(MPI_Waitall(2, list, statuses), MPI_ERR_IN_STATUS);
    CHECK_CLASS(statuses[0].MPI_ERROR, MPI_ERR_IO);
    CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    completions(0);
    completions(1);
    get_status();
    cancellation();
    freeing();
    mixed();
    errors();
    return finish();
}
