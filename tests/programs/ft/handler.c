// ranks: 3
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// An error handler leaves by longjmp, many times, out of different calls; it may revoke and shrink.
#include "ft.h"
#include <setjmp.h>

enum { TURNS = 100000, DEAD = 2 };

static jmp_buf back;
static int seen;
static MPI_Comm left = (MPI_Comm)MPI_COMM_NULL;

static void leave(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    seen = *code;
    longjmp(back, 1);
}

static void repair(MPI_Comm *comm, int *code, ...) {
    seen = *code;
    MPIX_Comm_revoke(*comm);
    MPIX_Comm_shrink(*comm, &left);
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Errhandler leaving, repairing;
    MPI_Comm comm;
    OK(MPI_Comm_create_errhandler(leave, &leaving));
    OK(MPI_Comm_create_errhandler(repair, &repairing));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    meet_at(DEAD);
    if (rank == DEAD) die();
    await_failures(MPI_COMM_WORLD, 1);
    long before = 0;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, leaving));
    for (volatile int i = 0; i < TURNS; i++) {
        int value = 0;
        MPI_Request request;
        seen = 0;
        if (setjmp(back) == 0) {
            switch (i % 4) {
            case 0: MPI_Recv(&value, 1, MPI_INT, DEAD, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
            case 1: MPI_Send(&value, 1, MPI_INT, DEAD, 0, MPI_COMM_WORLD); break;
            case 2: MPI_Barrier(MPI_COMM_WORLD); break;
            case 3:
                MPI_Irecv(&value, 1, MPI_INT, DEAD, 0, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            CHECK_FAIL("turn %d: no error", i);
        }
        CHECK_EQ(seen, PROC_FAILED);
        if (i == TURNS / 10) before = resident_kib();
    }
    // Nothing is left behind.
    CHECK(resident_kib() - before < 2048);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(comm, repairing));
    FAILS_SOMEHOW(MPI_Barrier(comm));
    CHECK(left != MPI_COMM_NULL);
    OK(MPI_Barrier(left));
    OK(MPI_Comm_free(&left));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Errhandler_free(&leaving));
    OK(MPI_Errhandler_free(&repairing));
    return finish();
}
