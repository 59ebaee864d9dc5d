// ranks: 4 8
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// Shrink again and again until one rank is left: the ranks keep their order, the result works and has the error handler of
// the old communicator. With MPIX_Comm_ishrink in every second turn.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm comm, next;
    MPI_Errhandler handler;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    // Nobody dies before all have it.
    meet(comm);
    // Rank 0 is the last one; the others die from both ends.
    for (int left = size; left > 1; left--) {
        int own, n, one = 1, sum = 0, revoked = -1, before = -1, place = -1;
        MPI_Comm_rank(comm, &own);
        MPI_Comm_size(comm, &n);
        CHECK_EQ(n, left);
        if (own == (left % 2 ? 1 : left - 1)) die();
        // Some members do not know of the failure yet.
        if (own % 2) {
            int code = MPI_Barrier(comm);
            if (code != MPI_SUCCESS) FAILS_SOMEHOW(code);
            OK(MPIX_Comm_revoke(comm));
        }
        if (left % 2) {
            MPI_Request request;
            OK(MPIX_Comm_ishrink(comm, &next, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPIX_Comm_shrink(comm, &next));
        }
        MPI_Comm_size(next, &n);
        // A rank that dies late may still be in the new communicator.
        if (n == left) {
            await_failures(next, 1);
            MPI_Comm again = next;
            OK(MPIX_Comm_shrink(again, &next));
            OK(MPI_Comm_free(&again));
            MPI_Comm_size(next, &n);
        }
        CHECK_EQ(n, left - 1);
        OK(MPIX_Comm_is_revoked(next, &revoked));
        CHECK_EQ(revoked, 0);
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, next));
        CHECK_EQ(sum, left - 1);
        OK(MPI_Exscan(&rank, &before, 1, MPI_INT, MPI_MAX, next));
        MPI_Comm_rank(next, &place);
        if (place > 0) CHECK(before < rank);
        OK(MPI_Comm_get_errhandler(next, &handler));
        CHECK(handler == MPI_ERRORS_RETURN);
        OK(MPI_Errhandler_free(&handler));
        meet(next);
        OK(MPI_Comm_free(&comm));
        comm = next;
    }
    CHECK_EQ(rank, 0);
    OK(MPI_Comm_free(&comm));
    return finish();
}
