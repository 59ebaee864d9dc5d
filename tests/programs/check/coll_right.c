// ranks: 2 3 8
// launch: --check=error
// Collective calls that match: nothing is told.
#include "coll_modes.h"

int main(int argc, char **argv) {
    static const char *modes[] = {"bcast", "ibcast", "gather", "scatter", "gatherv", "scatterv", "allgather",
        "allgatherv", "alltoall", "alltoallv", "allreduce", "reduce", "scan", "reduce_scatter", "allreduce-op",
        "iallreduce-op", "reduce-op", "scan-op", "exscan-op", "user-op"};
    start(&argc, &argv);
    for (int round = 0; round < 20; round++)
        for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) call(modes[i], 0);

    // The same elements as other types, and arguments that are not significant.
    MPI_Datatype six, column;
    MPI_Type_contiguous(6, MPI_INT, &six);
    MPI_Type_commit(&six);
    MPI_Type_vector(6, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Bcast(in, rank == 0 ? 6 : 1, rank == 0 ? MPI_INT : rank == 1 ? column : six, 0, MPI_COMM_WORLD);
    MPI_Bcast(in, rank == 0 ? 24 : 6, rank == 0 ? MPI_BYTE : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(in, rank == 1 ? 1 : 6, rank == 1 ? six : MPI_INT, out, rank == 0 ? 6 : -5, rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0,
               MPI_COMM_WORLD);
    MPI_Allgather(rank == 0 ? MPI_IN_PLACE : in, 2, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : out, rank == 0 ? out : NULL, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Datatype none[8], ints[8];
    int zeros[8] = {0};
    for (int i = 0; i < 8; i++) none[i] = MPI_INT, ints[i] = MPI_INT;
    MPI_Alltoallw(in, zeros, zeros, none, out, zeros, zeros, ints, MPI_COMM_WORLD);
    MPI_Bcast(in, 0, rank == 0 ? MPI_INT : MPI_DOUBLE, 0, MPI_COMM_WORLD);

    // Contexts come again; calls are counted anew.
    for (int i = 0; i < 5; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
        for (int call = 0; call <= i; call++) MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
        if (rank % 2) MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }

    // An error that a call has returned is no finding, and the calls after it match again.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) CHECK(MPI_Bcast(in, -1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
    if (rank == 0) CHECK(MPI_Bcast(in, 1, MPI_INT, 99, MPI_COMM_WORLD) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Type_free(&six);
    MPI_Type_free(&column);
    return finish();
}
