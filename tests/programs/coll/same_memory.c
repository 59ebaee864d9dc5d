// ranks: 1 2 3 4 8
// no-check: buffers of a call overlap
// Programs that forget MPI_IN_PLACE: the send buffer of a rank is where its part of the result
// goes. Each rank that does so gets an error, whatever its rank, in every form of the call, and no
// rank hangs.
#include "../check.h"

#define N 3
#define REFUSED(call) CHECK_CLASS(call, MPI_ERR_BUFFER)
#define FORMS(name, ...)                                                          \
    do {                                                                          \
        REFUSED(MPI_##name(__VA_ARGS__));                                         \
        REFUSED(MPI_I##name(__VA_ARGS__, &request));                              \
        CHECK(request == MPI_REQUEST_NULL);                                       \
        REFUSED(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request));         \
    } while (0)
// The names of the nonblocking forms have a small letter after the I.
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce MPI_Ireduce
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    int *all = calloc((size_t)(2 * N * size), sizeof *all), *own = &all[N * rank];
    int *counts = malloc((size_t)size * sizeof *counts), *displs = malloc((size_t)size * sizeof *displs);
    int *bytes = malloc((size_t)size * sizeof *bytes);
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);
    for (int i = 0; i < size; i++) {
        counts[i] = N;
        displs[i] = 2 * N * i;
        bytes[i] = displs[i] * (int)sizeof(int);
        types[i] = MPI_INT;
    }

    FORMS(Allgather, own, N, MPI_INT, all, N, MPI_INT, comm);
    FORMS(Allgatherv, &all[2 * N * rank], N, MPI_INT, all, counts, displs, MPI_INT, comm);
    FORMS(Alltoall, all, N, MPI_INT, all, N, MPI_INT, comm);
    FORMS(Alltoallv, all, counts, displs, MPI_INT, all, counts, displs, MPI_INT, comm);
    FORMS(Alltoallw, all, counts, bytes, types, all, counts, bytes, types, comm);
    // The root alone has both buffers: it is the only one to call.
    FORMS(Gather, own, N, MPI_INT, all, N, MPI_INT, rank, comm);
    FORMS(Gatherv, &all[2 * N * rank], N, MPI_INT, all, counts, displs, MPI_INT, rank, comm);
    FORMS(Scatter, all, N, MPI_INT, own, N, MPI_INT, rank, comm);
    FORMS(Scatterv, all, counts, displs, MPI_INT, &all[2 * N * rank], N, MPI_INT, rank, comm);
    FORMS(Reduce, all, all, N, MPI_INT, MPI_SUM, rank, comm);
    FORMS(Allreduce, all, all, N, MPI_INT, MPI_SUM, comm);
    FORMS(Reduce_scatter, all, all, counts, MPI_INT, MPI_SUM, comm);
    FORMS(Reduce_scatter_block, all, all, N, MPI_INT, MPI_SUM, comm);
    FORMS(Scan, all, all, N, MPI_INT, MPI_SUM, comm);
    FORMS(Exscan, all, all, N, MPI_INT, MPI_SUM, comm);

    // With other places it is not the same memory, and the ranks are still in step.
    int given[N] = {rank, rank + 1, rank + 2};
    for (int turn = 0; turn < 5; turn++) {
        OK(MPI_Allgather(given, N, MPI_INT, all, N, MPI_INT, comm));
        for (int i = 0; i < N * size; i++) CHECK_EQ(all[i], i / N + i % N);
    }
    OK(MPI_Alltoallv(all, counts, displs, MPI_INT, &all[N], counts, displs, MPI_INT, comm));
    // Nothing cannot be in two places.
    OK(MPI_Allgather(own, 0, MPI_INT, all, 0, MPI_INT, comm));
    free(types);
    free(bytes);
    free(displs);
    free(counts);
    free(all);
    return finish();
}
