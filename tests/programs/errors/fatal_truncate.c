// ranks: 1 2
// expect-exit: 15
// expect-stderr: MPI_ERR_TRUNCATE
// expect-stderr: MPI_Recv
// expect-stderr: rank 0
// expect-stderr: tag 12
// expect-stderr: 80
// expect-stderr: 40
// A truncated message under the default handler: the text names sender, tag and both sizes.
#include "../check.h"

int main(int argc, char **argv) {
    double out[10] = {0}, in[5];
    MPI_Request r;
    start(&argc, &argv);
    if (rank == 0) MPI_Isend(out, 10, MPI_DOUBLE, size - 1, 12, MPI_COMM_WORLD, &r);
    if (rank == size - 1) MPI_Recv(in, 5, MPI_DOUBLE, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
