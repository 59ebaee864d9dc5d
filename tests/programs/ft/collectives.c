// ranks: 4 5
// no-check: leaves a communicator after a death
// sleeps: each case waits until a death is noticed
// args: barrier
// args: bcast
// args: reduce
// args: allreduce
// args: allreduce-long
// args: bcast-long
// args: gather
// args: scatter
// args: allgather
// args: alltoall
// args: alltoallv
// args: scan
// args: ibarrier
// args: iallreduce
// args: neighbor
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// A process dies while the others are in a collective operation: whoever is not done gets an error. Afterwards each
// operation fails at entry, and the survivors go on with a smaller communicator.
#include "ft.h"

enum { SHORT = 8, LONG = 1 << 20 };

static const char *what;
static int *in, *out, *counts, *displacements;
static MPI_Comm grid;

static int run(MPI_Comm comm, int root) {
    MPI_Request request;
    int code, n;
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < n; i++) counts[i] = SHORT, displacements[i] = i * SHORT;
    if (!strcmp(what, "barrier")) return MPI_Barrier(comm);
    if (!strcmp(what, "bcast")) return MPI_Bcast(out, SHORT, MPI_INT, root, comm);
    if (!strcmp(what, "bcast-long")) return MPI_Bcast(out, LONG, MPI_INT, root, comm);
    if (!strcmp(what, "reduce")) return MPI_Reduce(in, out, SHORT, MPI_INT, MPI_SUM, root, comm);
    if (!strcmp(what, "allreduce")) return MPI_Allreduce(in, out, SHORT, MPI_INT, MPI_SUM, comm);
    if (!strcmp(what, "allreduce-long")) return MPI_Allreduce(in, out, LONG, MPI_INT, MPI_SUM, comm);
    if (!strcmp(what, "gather")) return MPI_Gather(in, SHORT, MPI_INT, out, SHORT, MPI_INT, root, comm);
    if (!strcmp(what, "scatter")) return MPI_Scatter(in, SHORT, MPI_INT, out, SHORT, MPI_INT, root, comm);
    if (!strcmp(what, "allgather")) return MPI_Allgather(in, SHORT, MPI_INT, out, SHORT, MPI_INT, comm);
    if (!strcmp(what, "alltoall")) return MPI_Alltoall(in, SHORT, MPI_INT, out, SHORT, MPI_INT, comm);
    if (!strcmp(what, "alltoallv"))
        return MPI_Alltoallv(in, counts, displacements, MPI_INT, out, counts, displacements, MPI_INT, comm);
    if (!strcmp(what, "scan")) return MPI_Scan(in, out, SHORT, MPI_INT, MPI_SUM, comm);
    if (!strcmp(what, "neighbor")) return MPI_Neighbor_alltoall(in, SHORT, MPI_INT, out, SHORT, MPI_INT, comm == MPI_COMM_WORLD ? grid : comm);
    if (!strcmp(what, "ibarrier"))
        code = MPI_Ibarrier(comm, &request);
    else
        code = MPI_Iallreduce(in, out, SHORT, MPI_INT, MPI_SUM, comm, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    what = argc > 1 ? argv[1] : "barrier";
    in = calloc(LONG, sizeof *in), out = calloc(LONG, sizeof *out);
    counts = calloc(size, sizeof *counts), displacements = calloc(size, sizeof *displacements);
    int ones[] = {1}, root = size - 1;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, ones, 0, &grid));
    for (int i = 0; i < 3; i++) OK(run(MPI_COMM_WORLD, i));
    meet_at(size - 1);
    if (rank == size - 1) {
        // The others are in the operation.
        sleep_ms(200);
        die();
    }
    // Those that need nothing of the dead may succeed once: the root of the operation is the dead one, but a neighbour's may not be.
    int code = run(MPI_COMM_WORLD, root);
    if (code != MPI_SUCCESS) CHECK_EQ(code, PROC_FAILED);
    int may_succeed = !strcmp(what, "scan") || !strcmp(what, "reduce") || !strcmp(what, "gather") || !strcmp(what, "neighbor");
    if (!may_succeed) CHECK_EQ(code, PROC_FAILED);
    await_failures(MPI_COMM_WORLD, 1);
    FAILS(run(MPI_COMM_WORLD, 0), PROC_FAILED);
    FAILS(run(MPI_COMM_WORLD, root), PROC_FAILED);
    MPI_Comm left = shrunk(MPI_COMM_WORLD, size - 1);
    if (strcmp(what, "neighbor")) OK(run(left, 0));
    OK(MPI_Barrier(left));
    MPI_Comm_free(&left);
    return finish();
}
