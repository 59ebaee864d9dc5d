// ranks: 1 2 3 4 7 8
// launch: -initial-errhandler mpi_errors_return
// Without a world there is no MPI_COMM_WORLD, also while a session is open; the error goes to the initial handler,
// which the launch asked to return.
#include "../check.h"

int main(int argc, char **argv) {
    MPI_Session session;
    MPI_Errhandler got;
    int n = -1, code, *value;
    (void)argc, (void)argv;
    CHECK_ERROR(MPI_Comm_rank(MPI_COMM_WORLD, &n), MPI_ERR_OTHER, "before MPI_Init");
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK_ERROR(MPI_Comm_rank(MPI_COMM_WORLD, &n), MPI_ERR_COMM, "MPI_COMM_WORLD");
    CHECK_ERROR(MPI_Send(&n, 1, MPI_INT, 0, 1, MPI_COMM_SELF), MPI_ERR_COMM, "MPI_COMM_SELF");
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &n), MPI_ERR_COMM, "MPI_COMM_WORLD");
    CHECK_ERROR(MPI_Query_thread(&n), MPI_ERR_OTHER, "MPI_Query_thread");
    CHECK_ERROR(MPI_Finalize(), MPI_ERR_OTHER, "MPI_Finalize");
    OK(MPI_Session_finalize(&session));
    start(&argc, &argv);
    // The world's communicators begin with the initial handler.
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    MPI_Finalize();
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    code = MPI_Barrier(MPI_COMM_WORLD);
    CHECK_ERROR(code, MPI_ERR_COMM, "MPI_COMM_WORLD");
    OK(MPI_Session_finalize(&session));
    CHECK_ERROR(MPI_Comm_size(MPI_COMM_WORLD, &n), MPI_ERR_OTHER, "after MPI_Finalize");
    return 0;
}
