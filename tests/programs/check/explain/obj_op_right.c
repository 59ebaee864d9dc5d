// ranks: 2
// launch: --check=error
#include <mpi.h>

static void first(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in, (void)inout, (void)count, (void)type;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Op op;
    MPI_Op_create(first, 1, &op);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
