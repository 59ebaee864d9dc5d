// ranks: 2 3 5
// sleeps: a rank comes late to every call
// timeout: 30
// no-check: the ranks give different roots
// Processes that wait for different nonblocking collectives, none of which can complete: each
// process gets an error from its request, and correct operations before and beside it complete.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm wrong, right;
    MPI_Request r[2];
    int mine = rank, sum = 0, value = 0, odd = rank == size - 1;
    char first[40], second[40];
    snprintf(first, sizeof first, "MPI_Ibcast(root %d)", 0);
    snprintf(second, sizeof second, "MPI_Ibcast(root %d)", size - 1);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &wrong));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &right));
    OK(MPI_Comm_set_errhandler(wrong, MPI_ERRORS_RETURN));

    OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, right, &r[0]));
    OK(MPI_Ibcast(&value, 1, MPI_INT, odd ? 0 : size - 1, wrong, &r[1]));
    int error = MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    CHECK_CLASS(error, MPI_ERR_ROOT);
    CHECK_TEXT(error, first);
    CHECK_TEXT(error, second);
    CHECK(r[1] == MPI_REQUEST_NULL);
    OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    CHECK_EQ(sum, size * (size - 1) / 2);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Comm_free(&right));
    return finish();
}
