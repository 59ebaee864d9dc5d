// ranks: 4
// args: 0
// args: 3
// args: 20
// args: 60
// args: 120
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// A rank dies instead of spawning with the others, or some milliseconds after it has begun to: the spawn succeeds at all that live, or at none.
// Then the others spawn again.
#include "ft.h"
#include <sys/time.h>
#include <unistd.h>

static void die_now(int number) {
    (void)number;
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm parent, children = MPI_COMM_NULL, left;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    int delay = atoi(argv[1]), ok, agreed;
    meet_at(size - 1);
    if (rank == size - 1) {
        struct itimerval timer = {{0, 0}, {0, delay * 1000}};
        if (delay == 0) die();
        signal(SIGALRM, die_now);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    int code = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    if (rank == size - 1) pause();
    if (code != MPI_SUCCESS && code != PROC_FAILED) CHECK_FAIL("spawn gave %d: %s", code, check_text(code));
    agreed = ok = code == MPI_SUCCESS;
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    MPIX_Comm_agree(MPI_COMM_WORLD, &agreed);
    CHECK_EQ(agreed, ok);
    if (ok) MPI_Comm_disconnect(&children);
    left = shrunk(MPI_COMM_WORLD, size - 1);
    OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, left, &children, MPI_ERRCODES_IGNORE));
    OK(MPI_Comm_disconnect(&children));
    OK(MPI_Comm_free(&left));
    return finish();
}
