// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-BUF-OVERLAP: rank 1: MPI_
// args: recv-recv
// args: recv-send
// args: send-recv
// args: part
// args: persistent
// args: blocking-recv
// args: bcast
// args: iallreduce
// args: sendrecv
// Rank 1 uses a buffer of an operation under way.
#include "../check.h"
#include <string.h>

int main(int argc, char **argv) {
    static int a[8], b[8];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    start(&argc, &argv);
    const char *mode = argv[1];
    MPI_Comm comm = MPI_COMM_WORLD;
    int *used = rank == 1 ? a : b;
    if (!strcmp(mode, "recv-recv") || !strcmp(mode, "part")) {
        int *second = used + (mode[0] == 'p' ? 3 : 0);
        if (rank == 1) {
            MPI_Irecv(used, 4, MPI_INT, 0, 1, comm, &requests[0]);
            MPI_Irecv(second, 4, MPI_INT, 0, 2, comm, &requests[1]);
        } else {
            MPI_Isend(a, 4, MPI_INT, 1, 1, comm, &requests[0]);
            MPI_Isend(a, 4, MPI_INT, 1, 2, comm, &requests[1]);
        }
    }
    if (!strcmp(mode, "recv-send") || !strcmp(mode, "send-recv")) {
        int first = mode[0] == 's';
        if (first) MPI_Isend(a, 4, MPI_INT, 1 - rank, 1, comm, &requests[1]);
        MPI_Irecv(used, 4, MPI_INT, 1 - rank, 1, comm, &requests[0]);
        if (!first) MPI_Isend(a, 4, MPI_INT, 1 - rank, 1, comm, &requests[1]);
    }
    if (!strcmp(mode, "blocking-recv")) {
        MPI_Isend(a, 4, MPI_INT, 1 - rank, 1, comm, &requests[0]);
        MPI_Recv(used, 4, MPI_INT, 1 - rank, 1, comm, MPI_STATUS_IGNORE);
    }
    if (!strcmp(mode, "bcast")) {
        MPI_Irecv(a, 4, MPI_INT, 1 - rank, 1, comm, &requests[0]);
        MPI_Bcast(used, 4, MPI_INT, 0, comm);
        MPI_Send(b, 4, MPI_INT, 1 - rank, 1, comm);
    }
    if (!strcmp(mode, "iallreduce")) {
        int c[8];
        MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, comm, &requests[0]);
        MPI_Irecv(rank == 1 ? b : c, 4, MPI_INT, 1 - rank, 1, comm, &requests[1]);
        MPI_Send(a, 4, MPI_INT, 1 - rank, 1, comm);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (!strcmp(mode, "sendrecv")) {
        MPI_Sendrecv(a, 4, MPI_INT, 1 - rank, 1, used + 3, 4, MPI_INT, 1 - rank, 1, comm, MPI_STATUS_IGNORE);
    }
    if (!strcmp(mode, "persistent")) {
        MPI_Recv_init(used, 4, MPI_INT, 1 - rank, 1, comm, &requests[0]);
        MPI_Send_init(a, 4, MPI_INT, 1 - rank, 1, comm, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return finish();
}
