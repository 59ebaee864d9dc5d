// ranks: 2
// launch: --check=error
// Buffers that are used well: nothing is told.
#include "../check.h"

enum { LONG = 1 << 18 };
static int a[LONG], b[LONG];

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request requests[4];
    int peer = 1 - rank, sum = 0;

    // Two sends of one buffer, which is read meanwhile; a receive beside another one.
    for (int round = 0; round < 10; round++) {
        MPI_Isend(a, 4, MPI_INT, peer, 1, comm, &requests[0]);
        MPI_Isend(a + 1, 4, MPI_INT, peer, 2, comm, &requests[1]);
        MPI_Irecv(b, 4, MPI_INT, peer, 1, comm, &requests[2]);
        MPI_Irecv(b + 4, 4, MPI_INT, peer, 2, comm, &requests[3]);
        sum += a[0], b[8 + round] = sum;
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        a[round] = round, b[round % 8] = 7;
    }

    // Interleaved columns.
    MPI_Datatype column;
    MPI_Type_vector(10, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(b, 1, column, peer, 1, comm, &requests[0]);
    MPI_Irecv(b + 1, 1, column, peer, 2, comm, &requests[1]);
    MPI_Send(a, 10, MPI_INT, peer, 1, comm);
    MPI_Send(a, 10, MPI_INT, peer, 2, comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Irecv(b, 1, column, peer, 1, comm, &requests[0]);
    b[1] = 5, b[3] = 6;
    MPI_Send(a, 10, MPI_INT, peer, 1, comm);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Type_free(&column);

    // Persistent requests, whose buffers change between starts.
    MPI_Recv_init(b, 4, MPI_INT, peer, 3, comm, &requests[0]);
    MPI_Send_init(a, 4, MPI_INT, peer, 3, comm, &requests[1]);
    for (int round = 0; round < 5; round++) {
        a[0] = round, b[0] = -1;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_EQ(b[0], round);
        MPI_Sendrecv(a, 4, MPI_INT, peer, 4, b, 4, MPI_INT, peer, 4, comm, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    // A receive that is cancelled, and a buffer of a request that was freed.
    MPI_Irecv(b, 4, MPI_INT, peer, 99, comm, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    b[0] = 1;
    MPI_Isend(a, LONG, MPI_INT, peer, 5, comm, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(b, LONG, MPI_INT, peer, 5, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    MPI_Recv(a, 1, MPI_INT, MPI_PROC_NULL, 5, comm, MPI_STATUS_IGNORE);
    a[0] = 3;

    // A request that is known to be complete: its buffers may be used.
    MPI_Isend(a, 4, MPI_INT, peer, 6, comm, &requests[0]);
    MPI_Irecv(b, 4, MPI_INT, peer, 6, comm, &requests[1]);
    for (int which = 0; which < 2; which++)
        for (int done = 0; !done;) MPI_Request_get_status(requests[which], &done, MPI_STATUS_IGNORE);
    a[0]++, b[0] = -5;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    // Nonblocking collectives.
    MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibcast(b + 8, 4, MPI_INT, 0, comm, &requests[1]);
    MPI_Igather(a, 2, MPI_INT, b + 16, 2, MPI_INT, 0, comm, &requests[2]);
    MPI_Iscatter(a, 2, MPI_INT, b + 32, 2, MPI_INT, 1, comm, &requests[3]);
    sum += a[0];
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    a[0] = sum, b[0] = sum;
    MPI_Iallreduce(MPI_IN_PLACE, b, 4, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    return finish();
}
