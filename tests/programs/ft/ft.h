// What the programs about failures share. A rank dies with die() at a fixed point; the others find out.
#include "../check.h"
#include <signal.h>

#ifndef FT_H
#define FT_H

CHECK_UNUSED static void die(void) {
    fflush(NULL);
    raise(SIGKILL);
    abort();
}

// When it returns at the victim, the others have ended all that came before: whoever is in an earlier collective operation
// when the victim dies would not get its result.
CHECK_UNUSED static void meet_at(int victim) {
    for (int r = 0; r < size; r++) {
        if (r == victim) continue;
        if (rank == victim) MPI_Recv(NULL, 0, MPI_BYTE, r, 32767, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == r) MPI_Send(NULL, 0, MPI_BYTE, victim, 32767, MPI_COMM_WORLD);
    }
}

// Starts with errors as codes.
CHECK_UNUSED static void ft_start(int *argc, char ***argv) {
    start(argc, argv);
    return_errors();
}

// The number of failed processes of a communicator that this process knows.
CHECK_UNUSED static int failures(MPI_Comm comm) {
    MPI_Group failed;
    int count = -1;
    OK(MPIX_Comm_get_failed(comm, &failed));
    MPI_Group_size(failed, &count);
    MPI_Group_free(&failed);
    return count;
}

// Waits until so many failures are known.
CHECK_UNUSED static void await_failures(MPI_Comm comm, int count) {
    double until = MPI_Wtime() + 20;
    while (failures(comm) < count) {
        if (MPI_Wtime() > until) CHECK_FAIL("%d failures are known, not %d", failures(comm), count);
        sleep_ms(1);
    }
}

// The call raises the class, whose number is the code itself.
#define FAILS(call, expected)                                                                             \
    do {                                                                                                  \
        int code_ = (call);                                                                               \
        if (code_ != (expected))                                                                          \
            CHECK_FAIL("%s gave %d, not %s (%d): %s", #call, code_, #expected, (expected), check_text(code_)); \
    } while (0)

#define PROC_FAILED MPIX_ERR_PROC_FAILED
#define PENDING MPIX_ERR_PROC_FAILED_PENDING
#define REVOKED MPIX_ERR_REVOKED

// A failed process, or a revoked object: ranks need not agree which.
#define FAILS_SOMEHOW(call)                                                                   \
    do {                                                                                      \
        int code_ = (call);                                                                   \
        if (code_ != PROC_FAILED && code_ != REVOKED)                                         \
            CHECK_FAIL("%s gave %d: %s", #call, code_, check_text(code_));                    \
    } while (0)

// All ranks have come so far on a communicator. (After a barrier one rank may revoke it while another is still inside.)
CHECK_UNUSED static void meet(MPI_Comm comm) {
    int flag = 1;
    OK(MPIX_Comm_agree(comm, &flag));
}

// The survivors of a communicator: its ranks in the old order, and it works.
CHECK_UNUSED static MPI_Comm shrunk(MPI_Comm comm, int expected) {
    MPI_Comm left = MPI_COMM_NULL;
    int one = 1, sum = 0, left_size = 0, left_rank = -1, before = -1, old = -1;
    OK(MPIX_Comm_shrink(comm, &left));
    MPI_Comm_size(left, &left_size);
    MPI_Comm_rank(left, &left_rank);
    MPI_Comm_rank(comm, &old);
    CHECK_EQ(left_size, expected);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left));
    CHECK_EQ(sum, expected);
    OK(MPI_Exscan(&old, &before, 1, MPI_INT, MPI_MAX, left));
    if (left_rank > 0) CHECK(before < old);
    meet(left);
    return left;
}

#endif
