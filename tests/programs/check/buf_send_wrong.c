// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-BUF-SEND: rank 0: the buffer of MPI_
// args: isend
// args: long
// args: issend
// args: persistent
// args: typed
// args: test
// args: waitall
// args: ibcast
// args: iallreduce
// args: igatherv
// args: isendrecv
// Rank 0 changes a send buffer before the request is complete.
#include "../check.h"
#include <string.h>

enum { LONG = 1 << 18 };
static int a[LONG], b[LONG];

int main(int argc, char **argv) {
    MPI_Request request = MPI_REQUEST_NULL;
    start(&argc, &argv);
    const char *mode = argv[1];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type;
    MPI_Type_vector(4, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    int is_typed = !strcmp(mode, "typed"), count = !strcmp(mode, "long") ? LONG : 4;
    if (!strcmp(mode, "ibcast")) MPI_Ibcast(a, 4, MPI_INT, 0, comm, &request);
    else if (!strcmp(mode, "iallreduce")) MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, comm, &request);
    else if (!strcmp(mode, "igatherv")) {
        static const int counts[2] = {4, 4}, displacements[2] = {0, 4};
        MPI_Igatherv(a, 4, MPI_INT, b, counts, displacements, MPI_INT, 1, comm, &request);
    } else if (!strcmp(mode, "isendrecv"))
        MPI_Isendrecv(a, 4, MPI_INT, 1 - rank, 1, b, 4, MPI_INT, 1 - rank, 1, comm, &request);
    else if (rank == 1) MPI_Irecv(b, count, MPI_INT, 0, 1, comm, &request);
    else if (!strcmp(mode, "issend")) MPI_Issend(a, 4, MPI_INT, 1, 1, comm, &request);
    else if (!strcmp(mode, "persistent")) {
        MPI_Send_init(a, 4, MPI_INT, 1, 1, comm, &request);
        MPI_Start(&request);
    } else
        MPI_Isend(a, is_typed ? 1 : count, is_typed ? type : MPI_INT, 1, 1, comm, &request);
    if (rank == 0) a[2] = 77;
    if (!strcmp(mode, "test"))
        for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    else if (!strcmp(mode, "waitall")) MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    else MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    MPI_Type_free(&type);
    return finish();
}
