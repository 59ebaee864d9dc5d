// ranks: 1 2
// timeout: 180
// No leaks: hundreds of thousands of operations of every kind do not grow the process.
#include "../check.h"

static int right, left;
static char out[70000], in[70000];

static int nothing(void *extra) {
    (void)extra;
    return MPI_SUCCESS;
}
static int query(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int cancel(void *extra, int complete) {
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}
static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
}

static void once(int i) {
    static const int sizes[] = {0, 8, 100, 5000, 70000};
    int n = sizes[i % 5], value = i, got, flag;
    MPI_Request r[2];
    MPI_Message message;
    MPI_Status statuses[2];
    MPI_Errhandler h;
    MPI_Irecv(in, n, MPI_BYTE, left, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, n, MPI_BYTE, right, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, statuses);
    MPI_Issend(out, n, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r[0]);
    MPI_Mprobe(left, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, n, MPI_BYTE, &message, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Send_init(out, n, MPI_BYTE, right, 3, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(in, n, MPI_BYTE, left, 3, MPI_COMM_WORLD, &r[1]);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Bsend(&value, 1, MPI_INT, right, 4, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(got, i);
    MPI_Irecv(in, n, MPI_BYTE, left, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Cancel(&r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Isend(&value, 1, MPI_INT, right, 6, MPI_COMM_WORLD, &r[0]);
    MPI_Request_free(&r[0]);
    MPI_Recv(&got, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace(in, n, MPI_BYTE, right, 7, left, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Grequest_start(query, nothing, cancel, NULL, &r[0]);
    MPI_Grequest_complete(r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Comm_create_errhandler(handler, &h);
    MPI_Errhandler_free(&h);
    MPI_Send(&value, 1, MPI_INT, size + i % 100, 1, MPI_COMM_WORLD); // an error and its text
    MPI_Iprobe(left, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    static char room[10000];
    MPI_Buffer_attach(room, sizeof room);
    int i = 0;
    for (; i < 3000; i++) once(i);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = resident_kib();
    for (; i < 23000; i++) once(i);
    MPI_Barrier(MPI_COMM_WORLD);
    long grown = resident_kib() - before;
    if (grown > 1024 + provider_kib()) CHECK_FAIL("20,000 rounds made the process %ld KiB larger", grown);
    void *back;
    int n;
    MPI_Buffer_detach(&back, &n);
    return finish();
}
