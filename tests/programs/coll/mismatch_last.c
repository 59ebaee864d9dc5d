// ranks: 2 3 8
// sleeps: a rank comes late to every call
// timeout: 30
// args: free bcast
// args: free ibcast
// args: free right
// args: finalize right
// no-check: the ranks give different roots
// A last collective in which ranks do not wait for each other, with different roots: the rank that
// frees the communicator last gets an error, and the communicator is freed anyway.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    const int frees = strcmp(argv[1], "free") == 0, right = strcmp(argv[2], "right") == 0, later = argv[2][0] == 'i';
    MPI_Comm comm = MPI_COMM_WORLD;
    int value = rank;
    if (frees) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 5; i++) OK(MPI_Barrier(comm));
    // Rank 1 comes last.
    if (rank == 1) usleep(300000);
    if (rank < 2 || right) {
        const int root = right ? 0 : rank;
        MPI_Request request;
        if (later) {
            OK(MPI_Ibcast(&value, 1, MPI_INT, root, comm, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
        }
    }
    const int code = frees ? MPI_Comm_free(&comm) : MPI_SUCCESS;
    if (frees) CHECK(comm == MPI_COMM_NULL);
    if (right || rank != 1) CHECK_EQ(code, MPI_SUCCESS);
    if (!right && rank == 1) {
        CHECK_CLASS(code, MPI_ERR_ROOT);
        CHECK_TEXT(code, later ? "MPI_Ibcast(4 bytes, root 0)" : "MPI_Bcast(4 bytes, root 0)");
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Finalize());
    return 0;
}
