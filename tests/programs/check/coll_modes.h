// Collective calls of which rank 2 gives something else than the others; a right call where `rank` is never 2.
#include "../check.h"
#include <string.h>

static int in[64], out[64], counts[8] = {2, 2, 2, 2, 2, 2, 2, 2};
static int places[8] = {0, 2, 4, 6, 8, 10, 12, 14};

static void user(void *from, void *to, int *count, MPI_Datatype *type) {
    (void)from, (void)to, (void)count, (void)type;
}

// `odd` is set on the rank that does it wrong.
static void call(const char *mode, int odd) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = odd ? MPI_FLOAT : MPI_INT;
    MPI_Op op = odd ? MPI_MAX : MPI_SUM;
    if (!strcmp(mode, "bcast")) MPI_Bcast(in, 2, type, 0, comm);
    if (!strcmp(mode, "ibcast")) MPI_Ibcast(in, 2, type, 0, comm, &request);
    if (!strcmp(mode, "gather")) MPI_Gather(in, 2, type, out, 2, MPI_INT, 0, comm);
    if (!strcmp(mode, "scatter")) MPI_Scatter(in, 2, MPI_INT, out, 2, type, 0, comm);
    if (!strcmp(mode, "gatherv")) MPI_Gatherv(in, 2, type, out, counts, places, MPI_INT, 0, comm);
    if (!strcmp(mode, "scatterv")) MPI_Scatterv(in, counts, places, MPI_INT, out, 2, type, 0, comm);
    if (!strcmp(mode, "allgather")) MPI_Allgather(in, 2, type, out, 2, type, comm);
    if (!strcmp(mode, "allgatherv")) MPI_Allgatherv(in, 2, type, out, counts, places, type, comm);
    if (!strcmp(mode, "alltoall")) MPI_Alltoall(in, 2, type, out, 2, type, comm);
    if (!strcmp(mode, "alltoallv")) MPI_Alltoallv(in, counts, places, type, out, counts, places, MPI_INT, comm);
    if (!strcmp(mode, "allreduce")) MPI_Allreduce(in, out, 2, type, MPI_MAX, comm);
    if (!strcmp(mode, "reduce")) MPI_Reduce(in, out, 2, type, MPI_MAX, 0, comm);
    if (!strcmp(mode, "scan")) MPI_Scan(in, out, 2, type, MPI_MAX, comm);
    if (!strcmp(mode, "reduce_scatter")) MPI_Reduce_scatter(in, out, counts, type, MPI_MAX, comm);
    if (!strcmp(mode, "iallreduce-op")) MPI_Iallreduce(in, out, 2, MPI_INT, op, comm, &request);
    if (!strcmp(mode, "allreduce-op")) MPI_Allreduce(in, out, 2, MPI_INT, op, comm);
    if (!strcmp(mode, "reduce-op")) MPI_Reduce(in, out, 2, MPI_INT, op, 0, comm);
    if (!strcmp(mode, "scan-op")) MPI_Scan(in, out, 2, MPI_INT, op, comm);
    if (!strcmp(mode, "exscan-op")) MPI_Exscan(in, out, 2, MPI_INT, op, comm);
    if (!strcmp(mode, "user-op")) {
        MPI_Op users;
        MPI_Op_create(user, 1, &users);
        MPI_Allreduce(in, out, 2, MPI_INT, odd ? MPI_SUM : users, comm);
        MPI_Op_free(&users);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
