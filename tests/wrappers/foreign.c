// A program that was built against another implementation's header and library: every kind of thing that the ABI fixes
// crosses the boundary once. Run at two ranks.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, errors_seen;

#define CHECK(what)                                                             \
    do {                                                                        \
        if (!(what)) {                                                          \
            fprintf(stderr, "foreign.c:%d: rank %d: %s\n", __LINE__, rank, #what); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

static void on_error(MPI_Comm *comm, int *code, ...) {
    int class = -1;
    CHECK(*comm == MPI_COMM_WORLD);
    CHECK(MPI_Error_class(*code, &class) == MPI_SUCCESS && class == MPI_ERR_RANK);
    errors_seen++;
}

static void statuses(int other) {
    int out[3] = {rank, 20, 30}, in[5] = {0}, n = -1;
    MPI_Count elements = -1;
    MPI_Request requests[2];
    MPI_Status both[2];
    MPI_Irecv(in, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests);
    MPI_Isend(out, 3, MPI_INT, other, 7, MPI_COMM_WORLD, requests + 1);
    CHECK(MPI_Waitall(2, requests, both) == MPI_SUCCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    CHECK(both[0].MPI_SOURCE == other && both[0].MPI_TAG == 7);
    CHECK(MPI_Get_count(both, MPI_INT, &n) == MPI_SUCCESS && n == 3);
    CHECK(MPI_Get_count(both, MPI_DOUBLE, &n) == MPI_SUCCESS && n == MPI_UNDEFINED);
    CHECK(MPI_Get_elements_c(both, MPI_BYTE, &elements) == MPI_SUCCESS && elements == 12);
    CHECK(in[0] == other && in[1] == 20 && in[2] == 30);
    CHECK(MPI_Waitany(2, requests, &n, both) == MPI_SUCCESS && n == MPI_UNDEFINED);
    CHECK(both[0].MPI_SOURCE == MPI_ANY_SOURCE && both[0].MPI_TAG == MPI_ANY_TAG);
    CHECK(MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, both) == MPI_SUCCESS);
    CHECK(both[0].MPI_SOURCE == MPI_PROC_NULL);
}

static void messages(int other) {
    double out = 1.5 + rank, in = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(&out, 1, MPI_DOUBLE, other, 8, MPI_COMM_WORLD, &request);
    MPI_Mprobe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    CHECK(message != MPI_MESSAGE_NULL && status.MPI_TAG == 8);
    MPI_Mrecv(&in, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    CHECK(message == MPI_MESSAGE_NULL && in == 1.5 + other);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

static void datatypes(int other) {
    int matrix[4][4] = {{0}}, column[4] = {0};
    MPI_Aint lower = -1, extent = -1;
    MPI_Datatype type;
    MPI_Request request;
    for (int i = 0; i < 4; i++) matrix[i][0] = 10 * rank + i;
    MPI_Type_vector(4, 1, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_Type_get_extent(type, &lower, &extent) == MPI_SUCCESS && lower == 0 && extent == 13 * sizeof(int));
    MPI_Isend(matrix, 1, type, other, 9, MPI_COMM_WORLD, &request);
    MPI_Recv(column, 4, MPI_INT, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) CHECK(column[i] == 10 * other + i);
    MPI_Type_free(&type);
}

static void failures(void) {
    char text[MPI_MAX_ERROR_STRING];
    int class = -1, length = -1, code, value = 0;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Send(&value, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD); // what it returns is left to the implementation
    CHECK(errors_seen == 1);
    MPI_Errhandler_free(&handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(&value, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_RANK && errors_seen == 1);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && (size_t)length == strlen(text));
}

int main(int argc, char **argv) {
    int given = -1, size = 0, major = -1, minor = -1, found = 0, *bound = NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    CHECK(given == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS && major == 1 && minor >= 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    CHECK(found && *bound >= 32767);
    statuses(1 - rank);
    messages(1 - rank);
    datatypes(1 - rank);
    failures();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d got %d\n", rank, 101 - rank);
    MPI_Finalize();
    return 0;
}
