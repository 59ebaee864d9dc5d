// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-OBJ-OP: ranks 0,1
#include <mpi.h>

static void first(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)in, (void)inout, (void)count, (void)type;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Op op;
    MPI_Op_create(first, 1, &op);
    MPI_Finalize();
    return 0;
}
