// ranks: 1 2 3 4 7 8
// Handles that are stale, made up or of another kind give the right error class and never a crash.
#include "../check.h"

static int value;

// A number as a handle; the low ones below 4096 are the standard's own.
#define COMM(n) ((MPI_Comm)(intptr_t)(n))
#define TYPE(n) ((MPI_Datatype)(intptr_t)(n))
#define REQUEST(n) ((MPI_Request)(intptr_t)(n))

static void garbage(void) {
    static const intptr_t numbers[] = {0, 1, 2, 3, 7, 100, 0xfff, 0x1000, 4097, 65536, 0x12345678, 0x7fffffff, -1, -2, -4096,
                                       (intptr_t)0xdeadbeefdeadbeef, (intptr_t)0x8000000000000000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        intptr_t n = numbers[i];
        int flag = -1, index = -1, r = -1;
        MPI_Request request = REQUEST(n), list[2] = {MPI_REQUEST_NULL, REQUEST(n)};
        CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, 0, 1, COMM(n)), MPI_ERR_COMM, "MPI_Send");
        CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, 0, 1, COMM(n), MPI_STATUS_IGNORE), MPI_ERR_COMM, "MPI_Recv");
        CHECK_ERROR(MPI_Comm_rank(COMM(n), &r), MPI_ERR_COMM, "MPI_Comm_rank");
        CHECK_ERROR(MPI_Barrier(COMM(n)), MPI_ERR_COMM, "MPI_Barrier");
        CHECK_ERROR(MPI_Send(&value, 1, TYPE(n), 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Send");
        CHECK_ERROR(MPI_Irecv(&value, 1, TYPE(n), 0, 1, MPI_COMM_WORLD, &request), MPI_ERR_TYPE, "MPI_Irecv");
        CHECK_ERROR(MPI_Type_size(TYPE(n), &r), MPI_ERR_TYPE, "MPI_Type_size");
        request = REQUEST(n);
        CHECK_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Wait");
        CHECK_ERROR(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Test");
        CHECK_ERROR(MPI_Cancel(&request), MPI_ERR_REQUEST, "MPI_Cancel");
        CHECK_ERROR(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_Request_free");
        CHECK_ERROR(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start");
        CHECK_ERROR(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Request_get_status");
        CHECK_ERROR(MPI_Grequest_complete(request), MPI_ERR_REQUEST, "MPI_Grequest_complete");
        CHECK_ERROR(MPI_Waitany(2, list, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Waitany");
        CHECK_ERROR(MPI_Testany(2, list, &index, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Testany");
        CHECK_ERROR(MPI_Waitall(2, list, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Waitall");
        CHECK_ERROR(MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Testall");
        CHECK_ERROR(MPI_Waitsome(2, list, &r, &index, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Waitsome");
        CHECK_ERROR(MPI_Testsome(2, list, &r, &index, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Testsome");
        CHECK_ERROR(MPI_Startall(1, &list[1]), MPI_ERR_REQUEST, "MPI_Startall");
        MPI_Message message = (MPI_Message)n;
        CHECK_ERROR(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Mrecv");
        CHECK_ERROR(MPI_Imrecv(&value, 1, MPI_INT, &message, &request), MPI_ERR_REQUEST, "MPI_Imrecv");
        CHECK_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, (MPI_Errhandler)n), MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler");
    }
}

// Predefined handles of one kind given as another.
static void wrong_kind(void) {
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 1, (MPI_Comm)MPI_INT), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(&value, 1, (MPI_Datatype)MPI_COMM_WORLD, 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(&value, 1, (MPI_Datatype)MPI_SUM, 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Request request = (MPI_Request)MPI_COMM_WORLD;
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 1, (MPI_Comm)request), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(&value, 1, (MPI_Datatype)request, 0, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A copy of a handle is noticed as stale once the request is gone, also when its place has been used again.
static void stale(void) {
    for (int i = 0; i < 1000; i++) {
        MPI_Request r, copy;
        int flag = -1;
        MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r);
        copy = r;
        MPI_Cancel(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK_CLASS(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        CHECK_CLASS(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
        MPI_Irecv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &r);
        CHECK(r != copy);
        CHECK_CLASS(MPI_Cancel(&copy), MPI_ERR_REQUEST);
        MPI_Cancel(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Message message, copy;
    MPI_Request send;
    MPI_Isend(&value, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &send);
    MPI_Mprobe(rank, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    copy = message;
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    CHECK_CLASS(MPI_Mrecv(&value, 1, MPI_INT, &copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    garbage();
    wrong_kind();
    stale();
    int flag = -1;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    return finish();
}
