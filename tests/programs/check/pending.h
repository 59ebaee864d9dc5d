// Operations of every kind between two ranks, whose buffers belong to them from `begin` to `end`.
#include "../check.h"

static int out[32], in[32], taken[32];
static int counts[2] = {8, 8}, places[2] = {0, 8}, bytes[2] = {0, 32};
static MPI_Datatype types[2];
static MPI_Comm ring;
static MPI_Request requests[2];

CHECK_UNUSED static const char *const ALL[] = {
    "isend", "issend", "ibsend", "irecv", "isendrecv", "send_init", "ssend_init", "recv_init", "psend_init", "precv_init",
    "ibcast", "igather", "igatherv", "iscatter", "iscatterv", "iallgather", "iallgatherv", "ialltoall", "ialltoallv",
    "ialltoallw", "ireduce", "iallreduce", "ireduce_scatter", "ireduce_scatter_block", "iscan", "iexscan", "bcast_init",
    "gather_init", "allgather_init", "alltoall_init", "alltoallv_init", "reduce_init", "allreduce_init",
    "reduce_scatter_init", "scan_init", "ineighbor_allgather", "ineighbor_allgatherv", "ineighbor_alltoall",
    "ineighbor_alltoallv", "ineighbor_alltoallw", "neighbor_alltoall_init"};
#define OPERATIONS (int)(sizeof ALL / sizeof *ALL)

static void prepare(void) {
    static char space[4096];
    int two = 2, yes = 1;
    MPI_Buffer_attach(space, sizeof space);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &two, &yes, 0, &ring);
    types[0] = types[1] = MPI_INT;
    requests[0] = requests[1] = MPI_REQUEST_NULL;
}

static int is(const char *name, const char *what) { return strcmp(name, what) == 0; }
static int is_persistent(const char *name) { return strstr(name, "_init") != NULL; }

// Begins operation `name`, which reads `from` and writes `to`, where it does either.
static void begin(const char *name, int *from, int *to) {
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request *one = &requests[0], *two = &requests[1];
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    MPI_Info info = MPI_INFO_NULL;
    int peer = 1 - rank;
    if (is(name, "isend") || is(name, "issend") || is(name, "ibsend") || is(name, "send_init") || is(name, "ssend_init")) {
        MPI_Irecv(taken, 8, type, peer, 1, comm, two);
    }
    if (is(name, "isend")) MPI_Isend(from, 8, type, peer, 1, comm, one);
    if (is(name, "issend")) MPI_Issend(from, 8, type, peer, 1, comm, one);
    if (is(name, "ibsend")) MPI_Ibsend(from, 8, type, peer, 1, comm, one);
    if (is(name, "send_init")) MPI_Send_init(from, 8, type, peer, 1, comm, one);
    if (is(name, "ssend_init")) MPI_Ssend_init(from, 8, type, peer, 1, comm, one);
    if (is(name, "irecv")) MPI_Irecv(to, 8, type, peer, 1, comm, one);
    if (is(name, "recv_init")) MPI_Recv_init(to, 8, type, peer, 1, comm, one);
    if (is(name, "isendrecv")) MPI_Isendrecv(from, 8, type, peer, 1, to, 8, type, peer, 1, comm, one);
    if (is(name, "psend_init")) {
        MPI_Psend_init(from, 2, 4, type, peer, 1, comm, info, one);
        MPI_Precv_init(taken, 2, 4, type, peer, 1, comm, info, two);
    }
    if (is(name, "precv_init")) {
        MPI_Precv_init(to, 2, 4, type, peer, 1, comm, info, one);
        MPI_Psend_init(taken, 2, 4, type, peer, 1, comm, info, two);
    }
    if (is(name, "ibcast")) MPI_Ibcast(rank == 0 ? from : to, 8, type, 0, comm, one);
    if (is(name, "bcast_init")) MPI_Bcast_init(rank == 0 ? from : to, 8, type, 0, comm, info, one);
    if (is(name, "igather")) MPI_Igather(from, 8, type, to, 8, type, 0, comm, one);
    if (is(name, "gather_init")) MPI_Gather_init(from, 8, type, to, 8, type, 0, comm, info, one);
    if (is(name, "igatherv")) MPI_Igatherv(from, 8, type, to, counts, places, type, 0, comm, one);
    if (is(name, "iscatter")) MPI_Iscatter(from, 8, type, to, 8, type, 0, comm, one);
    if (is(name, "iscatterv")) MPI_Iscatterv(from, counts, places, type, to, 8, type, 0, comm, one);
    if (is(name, "iallgather")) MPI_Iallgather(from, 8, type, to, 8, type, comm, one);
    if (is(name, "allgather_init")) MPI_Allgather_init(from, 8, type, to, 8, type, comm, info, one);
    if (is(name, "iallgatherv")) MPI_Iallgatherv(from, 8, type, to, counts, places, type, comm, one);
    if (is(name, "ialltoall")) MPI_Ialltoall(from, 8, type, to, 8, type, comm, one);
    if (is(name, "alltoall_init")) MPI_Alltoall_init(from, 8, type, to, 8, type, comm, info, one);
    if (is(name, "ialltoallv")) MPI_Ialltoallv(from, counts, places, type, to, counts, places, type, comm, one);
    if (is(name, "alltoallv_init")) {
        MPI_Alltoallv_init(from, counts, places, type, to, counts, places, type, comm, info, one);
    }
    if (is(name, "ialltoallw")) MPI_Ialltoallw(from, counts, bytes, types, to, counts, bytes, types, comm, one);
    if (is(name, "ireduce")) MPI_Ireduce(from, to, 8, type, op, 0, comm, one);
    if (is(name, "reduce_init")) MPI_Reduce_init(from, to, 8, type, op, 0, comm, info, one);
    if (is(name, "iallreduce")) MPI_Iallreduce(from, to, 8, type, op, comm, one);
    if (is(name, "allreduce_init")) MPI_Allreduce_init(from, to, 8, type, op, comm, info, one);
    if (is(name, "ireduce_scatter")) MPI_Ireduce_scatter(from, to, counts, type, op, comm, one);
    if (is(name, "reduce_scatter_init")) MPI_Reduce_scatter_init(from, to, counts, type, op, comm, info, one);
    if (is(name, "ireduce_scatter_block")) MPI_Ireduce_scatter_block(from, to, 8, type, op, comm, one);
    if (is(name, "iscan")) MPI_Iscan(from, to, 8, type, op, comm, one);
    if (is(name, "scan_init")) MPI_Scan_init(from, to, 8, type, op, comm, info, one);
    if (is(name, "iexscan")) MPI_Iexscan(from, to, 8, type, op, comm, one);
    if (is(name, "ineighbor_allgather")) MPI_Ineighbor_allgather(from, 8, type, to, 8, type, ring, one);
    if (is(name, "ineighbor_allgatherv")) {
        MPI_Ineighbor_allgatherv(from, 8, type, to, counts, places, type, ring, one);
    }
    if (is(name, "ineighbor_alltoall")) MPI_Ineighbor_alltoall(from, 8, type, to, 8, type, ring, one);
    if (is(name, "neighbor_alltoall_init")) MPI_Neighbor_alltoall_init(from, 8, type, to, 8, type, ring, info, one);
    if (is(name, "ineighbor_alltoallv")) {
        MPI_Ineighbor_alltoallv(from, counts, places, type, to, counts, places, type, ring, one);
    }
    if (is(name, "ineighbor_alltoallw")) {
        MPI_Aint at[2] = {0, 32};
        MPI_Ineighbor_alltoallw(from, counts, at, types, to, counts, at, types, ring, one);
    }
    if (is_persistent(name)) MPI_Start(one);
    if (is(name, "psend_init") || is(name, "precv_init")) {
        MPI_Start(two);
        MPI_Pready_range(0, 1, is(name, "psend_init") ? *one : *two);
    }
}

// The receives of `begin` get their messages here, so that they are certainly pending before.
static void end(const char *name) {
    if (is(name, "irecv") || is(name, "recv_init")) MPI_Send(taken, 8, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) {
        if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
    }
}

static int leave(void) {
    void *space;
    int length;
    MPI_Comm_free(&ring);
    MPI_Buffer_detach(&space, &length);
    return finish();
}
