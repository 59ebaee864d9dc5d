// ranks: 2 3 5
// timeout: 30
// expect-exit: nonzero
// expect-stderr: MPI_
// args: more-than-root
// args: less-than-root
// args: long-sizes
// args: barrier-bcast
// args: bcast-allreduce
// args: reduce-sizes
// args: allreduce-sizes
// args: allreduce-long
// args: allgather-sizes
// args: alltoall-sizes
// args: scan-exscan
// args: bcast-two-roots
// args: bcast-no-root
// args: reduce-two-roots
// args: gather-two-roots
// args: gather-scatter
// args: one-of-many
// args: nonblocking-order
// args: gatherv-two-roots
// args: long-gather-two-roots
// args: gatherv-scatterv
// args: bcast-gatherv
// args: allgather-allgatherv
// args: alltoall-alltoallv
// args: barrier-ibarrier
// args: allreduce-iallreduce
// args: ibcast-two-roots
// args: different-waits
// args: different-waits-behind-others
// args: different-waits-between-groups
// args: different-starts
// args: new-communicator
// Processes that do not call the same collective in the same way: the job ends with an error, it neither hangs nor goes on.
#include "../check.h"

static int odd, a[200000], b[200000];

static int is(int argc, char **argv, const char *name) { return argc > 1 && !strcmp(argv[1], name); }

int main(int argc, char **argv) {
    MPI_Request r[2];
    start(&argc, &argv);
    MPI_Comm w = MPI_COMM_WORLD;
    odd = rank == size - 1;
    int counts[8], places[8];
    for (int i = 0; i < size; i++) counts[i] = 4, places[i] = 4 * i;
    MPI_Barrier(w);
    if (is(argc, argv, "more-than-root")) MPI_Bcast(a, rank ? 8 : 4, MPI_INT, 0, w);
    else if (is(argc, argv, "less-than-root")) MPI_Bcast(a, rank ? 4 : 8, MPI_INT, 0, w);
    else if (is(argc, argv, "long-sizes")) MPI_Bcast(a, odd ? 100000 : 100001, MPI_INT, 0, w);
    else if (is(argc, argv, "barrier-bcast")) odd ? MPI_Barrier(w) : MPI_Bcast(a, 4, MPI_INT, 0, w);
    else if (is(argc, argv, "bcast-allreduce")) odd ? MPI_Bcast(a, 4, MPI_INT, 0, w) : MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, w);
    else if (is(argc, argv, "reduce-sizes")) MPI_Reduce(a, b, odd ? 4 : 5, MPI_INT, MPI_SUM, 0, w);
    else if (is(argc, argv, "allreduce-sizes")) MPI_Allreduce(a, b, odd ? 4 : 5, MPI_INT, MPI_SUM, w);
    else if (is(argc, argv, "allreduce-long")) MPI_Allreduce(a, b, odd ? 100000 : 100001, MPI_INT, MPI_SUM, w);
    else if (is(argc, argv, "allgather-sizes")) MPI_Allgather(a, odd ? 4 : 5, MPI_INT, b, odd ? 4 : 5, MPI_INT, w);
    else if (is(argc, argv, "alltoall-sizes")) MPI_Alltoall(a, odd ? 4 : 5, MPI_INT, b, odd ? 4 : 5, MPI_INT, w);
    else if (is(argc, argv, "scan-exscan"))
        odd ? MPI_Scan(a, b, 4, MPI_INT, MPI_SUM, w) : MPI_Exscan(a, b, 4, MPI_INT, MPI_SUM, w);
    else if (is(argc, argv, "bcast-two-roots")) MPI_Bcast(a, 4, MPI_INT, odd ? rank : 0, w);
    else if (is(argc, argv, "bcast-no-root")) MPI_Bcast(a, 4, MPI_INT, odd ? 0 : size - 1, w);
    else if (is(argc, argv, "reduce-two-roots")) MPI_Reduce(a, b, 4, MPI_INT, MPI_SUM, odd ? rank : 0, w);
    else if (is(argc, argv, "gather-two-roots")) MPI_Gather(a, 4, MPI_INT, b, 4, MPI_INT, odd ? rank : 0, w);
    else if (is(argc, argv, "gather-scatter"))
        odd ? MPI_Scatter(a, 4, MPI_INT, b, 4, MPI_INT, 0, w) : MPI_Gather(a, 4, MPI_INT, b, 4, MPI_INT, 0, w);
    else if (is(argc, argv, "one-of-many")) {
        // No rank waits in the wrong call; the next call reports it.
        for (int i = 0; i < 50; i++) MPI_Bcast(a, 4, MPI_INT, odd && i == 20 ? rank : 0, w);
    } else if (is(argc, argv, "nonblocking-order")) {
        if (odd) {
            MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, w, &r[0]);
            MPI_Ibarrier(w, &r[1]);
        } else {
            MPI_Ibarrier(w, &r[1]);
            MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, w, &r[0]);
        }
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else if (is(argc, argv, "gatherv-two-roots")) {
        MPI_Gatherv(a, 4, MPI_INT, b, counts, places, MPI_INT, odd ? rank : 0, w);
    } else if (is(argc, argv, "long-gather-two-roots")) {
        MPI_Gather(a, 20000, MPI_INT, b, 20000, MPI_INT, odd ? rank : 0, w);
    } else if (is(argc, argv, "gatherv-scatterv")) {
        odd ? MPI_Scatterv(a, counts, places, MPI_INT, b, 4, MPI_INT, 0, w)
            : MPI_Gatherv(a, 4, MPI_INT, b, counts, places, MPI_INT, 0, w);
    } else if (is(argc, argv, "bcast-gatherv")) {
        odd ? MPI_Gatherv(a, 4, MPI_INT, b, counts, places, MPI_INT, 0, w) : MPI_Bcast(a, 4, MPI_INT, 0, w);
    } else if (is(argc, argv, "allgather-allgatherv")) {
        odd ? MPI_Allgatherv(a, 4, MPI_INT, b, counts, places, MPI_INT, w) : MPI_Allgather(a, 4, MPI_INT, b, 4, MPI_INT, w);
    } else if (is(argc, argv, "alltoall-alltoallv")) {
        odd ? MPI_Alltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, w)
            : MPI_Alltoall(a, 4, MPI_INT, b, 4, MPI_INT, w);
    } else if (is(argc, argv, "barrier-ibarrier")) {
        if (odd) MPI_Ibarrier(w, r), MPI_Wait(r, MPI_STATUS_IGNORE);
        else MPI_Barrier(w);
    } else if (is(argc, argv, "allreduce-iallreduce")) {
        if (odd) MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, w, r), MPI_Wait(r, MPI_STATUS_IGNORE);
        else MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, w);
    } else if (is(argc, argv, "ibcast-two-roots")) {
        // No rank waits in the wrong call; the next call reports it.
        MPI_Ibcast(a, 4, MPI_INT, odd ? rank : 0, w, r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
    } else if (is(argc, argv, "different-waits")) {
        // All ranks wait in the same function, for a message that is never sent.
        odd ? MPI_Ibcast(a, 4, MPI_INT, 0, w, r) : MPI_Iscatter(a, 4, MPI_INT, b, 4, MPI_INT, size - 1, w, r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
    } else if (is(argc, argv, "different-waits-behind-others")) {
        // The first waits are correct, on communicators on which no other rank waits yet.
        MPI_Comm c[3];
        MPI_Request q[4];
        for (int i = 0; i < 3; i++) {
            MPI_Comm_dup(w, &c[i]);
            if (!odd) MPI_Ibarrier(c[i], &q[i]);
        }
        MPI_Ibcast(a, 4, MPI_INT, odd ? 0 : size - 1, w, &q[3]);
        odd ? MPI_Wait(&q[3], MPI_STATUS_IGNORE) : MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    } else if (is(argc, argv, "different-waits-between-groups")) {
        MPI_Comm half, inter;
        MPI_Comm_split(w, odd, rank, &half);
        MPI_Intercomm_create(half, 0, w, odd ? 0 : size - 1, 1, &inter);
        odd ? MPI_Ibcast(a, 4, MPI_INT, 0, inter, r) : MPI_Iscatter(a, 4, MPI_INT, b, 4, MPI_INT, 0, inter, r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
    } else if (is(argc, argv, "different-starts")) {
        MPI_Bcast_init(a, 4, MPI_INT, odd ? 0 : size - 1, w, MPI_INFO_NULL, r);
        MPI_Start(r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
    } else if (is(argc, argv, "new-communicator")) {
        MPI_Comm_dup(w, &w);
        MPI_Bcast(a, 4, MPI_INT, odd ? rank : 0, w);
        MPI_Barrier(w);
        MPI_Barrier(w);
    } else {
        fprintf(stderr, "mismatch: which?\n");
        return 9;
    }
    MPI_Barrier(w);
    return finish();
}
