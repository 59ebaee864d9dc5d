// ranks: 3
// launch: --with-ft ulfm
// timeout: 60
// sleeps: it waits for processes that are started
// expect-stderr: was killed by signal 9
// no-valgrind: ranks are killed
// One process dies, the others start one in its place, and so on. First the lowest rank dies, until none of the first processes
// is left; then rank 1, so that rank 0 stays for 20 turns. It has no more descriptors at the end than after its first turn.
#include "ft.h"
#include <dirent.h>

#define TURNS 24
#define MEMBERS 3

static int turn;

static int count_of(const char *folder) {
    int count = 0;
    DIR *opened = opendir(folder);
    CHECK(opened);
    while (readdir(opened)) count++;
    closedir(opened);
    return count;
}

// The new process learns which turn it is; all work together.
static void work(MPI_Comm all) {
    int members = 0, one = 1, sum = 0, newest = turn;
    MPI_Comm_size(all, &members);
    CHECK_EQ(members, MEMBERS);
    OK(MPI_Allreduce(&newest, &turn, 1, MPI_INT, MPI_MAX, all));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK_EQ(sum, MEMBERS);
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm parent, all = MPI_COMM_WORLD;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        OK(MPI_Intercomm_merge(parent, 1, &all));
        OK(MPI_Comm_free(&parent));
    }
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    int at_first = 0, lived = 0;
    for (;; lived++) {
        work(all);
        if (turn == TURNS) break;
        turn++;
        int place;
        MPI_Comm_rank(all, &place);
        // Nobody is still in the operations above.
        meet(all);
        if (place == (turn > MEMBERS)) die();
        MPI_Comm left, children, next;
        FAILS_SOMEHOW(MPI_Barrier(all));
        OK(MPIX_Comm_shrink(all, &left));
        OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, left, &children, MPI_ERRCODES_IGNORE));
        OK(MPI_Intercomm_merge(children, 0, &next));
        OK(MPI_Comm_free(&children));
        OK(MPI_Comm_free(&left));
        if (all != MPI_COMM_WORLD) OK(MPI_Comm_free(&all));
        all = next;
        MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
        if (lived == 0) at_first = count_of("/proc/self/fd");
        else CHECK(count_of("/proc/self/fd") <= at_first + 8);
    }
    OK(MPI_Comm_free(&all));
    return finish();
}
