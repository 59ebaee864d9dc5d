// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-BUF-RECV: rank 1: the buffer of MPI_
// args: early
// args: late
// args: persistent
// args: typed
// args: arrived
// args: iallreduce
// Rank 1 changes a receive buffer before the request is complete.
#include "../check.h"
#include <string.h>

int main(int argc, char **argv) {
    static int a[8], b[8];
    MPI_Request request = MPI_REQUEST_NULL;
    start(&argc, &argv);
    const char *mode = argv[1];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type;
    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    int is_early = !strcmp(mode, "early"), is_typed = !strcmp(mode, "typed");
    if (!strcmp(mode, "arrived") || !strcmp(mode, "iallreduce")) {
        // The value is there, and the request is not complete.
        int other = 0;
        if (mode[0] == 'i') MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, comm, &request);
        else if (rank == 1) MPI_Irecv(b, 4, MPI_INT, 0, 1, comm, &request);
        else MPI_Send(a, 4, MPI_INT, 1, 1, comm);
        for (int round = 0; round < 20; round++) {
            MPI_Sendrecv(a, 1, MPI_INT, 1 - rank, 2, &other, 1, MPI_INT, 1 - rank, 2, comm, MPI_STATUS_IGNORE);
        }
        if (rank == 1) b[2] = 77;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
        return finish();
    }
    if (rank == 0 && is_early) MPI_Send(a, 4, MPI_INT, 1, 1, comm);
    if (is_early) MPI_Barrier(comm);
    if (rank == 1 && !strcmp(mode, "persistent")) {
        MPI_Recv_init(b, 4, MPI_INT, 0, 1, comm, &request);
        MPI_Start(&request);
    } else if (rank == 1)
        MPI_Irecv(b, is_typed ? 1 : 4, is_typed ? type : MPI_INT, 0, 1, comm, &request);
    if (rank == 1) b[2] = 77;
    MPI_Barrier(comm);
    if (rank == 0 && !is_early) MPI_Send(a, 4, MPI_INT, 1, 1, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    MPI_Type_free(&type);
    return finish();
}
