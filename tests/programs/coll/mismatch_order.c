// ranks: 2 3 5
// sleeps: a rank comes late to every call
// timeout: 30
// args: first
// args: later
// args: late
// no-check: the ranks make different calls
// One process starts a nonblocking collective before a barrier, the others after it: all of them
// get an error at the barrier, and none hangs. With the communicator's first collective calls, and
// with later ones; and when one begins after the others have given up: on another host it learns that
// they have finalized, or from others there that have learnt it.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Request request;
    int one = 1, all = 0, wrong;
    if (strcmp(argv[1], "later") == 0)
        for (int i = 0; i < 5; i++) OK(MPI_Barrier(MPI_COMM_WORLD));
    if (strcmp(argv[1], "late") == 0 && rank == size - 1) sleep_ms(2000);
    if (rank == 0) {
        OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &request));
        wrong = MPI_Barrier(MPI_COMM_WORLD);
    } else {
        wrong = MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &request));
    }
    CHECK(wrong != MPI_SUCCESS);
    const char *text = check_text(wrong);
    if (!strstr(text, "has called MPI_Finalize without making this call") && !strstr(text, "has left this call with an error"))
        CHECK_TEXT(wrong, "same order");
    if (MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS) CHECK_EQ(all, 1);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Finalize();
    return 0;
}
