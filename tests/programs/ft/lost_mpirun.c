// ranks: 2
// launch: --with-ft ulfm
// expect-stderr: the mpirun of a spawned job
// one-host: on several hosts a spawned job has agents
// no-valgrind: ranks are killed
// The mpirun of a spawned job is killed, and its ranks die with it. Nobody can write their ends into a log any more; the parents
// find out by themselves, agree, acknowledge and shrink, and spawn again.
#include "ft.h"

static void parents_go_on(MPI_Comm inter, MPI_Comm all) {
    MPI_Comm left;
    int flag = 3, one = 1, sum = 0, count = 0;
    FAILS(MPI_Recv(NULL, 0, MPI_BYTE, rank, 1, inter, MPI_STATUS_IGNORE), PROC_FAILED);
    FAILS(MPIX_Comm_agree(all, &flag), PROC_FAILED);
    CHECK_EQ(flag, 3);
    await_failures(all, 2);
    OK(MPIX_Comm_ack_failed(all, 4, &count));
    CHECK_EQ(count, 2);
    OK(MPIX_Comm_agree(all, &flag));
    CHECK_EQ(flag, 3);
    FAILS(MPIX_Comm_agree(inter, &flag), PROC_FAILED);
    OK(MPIX_Comm_shrink(all, &left));
    MPI_Comm_size(left, &count);
    CHECK_EQ(count, 2);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left));
    CHECK_EQ(sum, 2);
    OK(MPI_Comm_free(&left));
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm inter, all;
    int mpirun = (int)getppid(), one = 1, sum = 0;
    MPI_Comm_get_parent(&inter);
    int is_child = inter != MPI_COMM_NULL;
    for (int turn = 0; turn < 2; turn++) {
        char *args[] = {turn ? "last" : "first", NULL};
        if (!is_child)
            OK(MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        OK(MPI_Intercomm_merge(inter, is_child, &all));
        MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
        CHECK_EQ(sum, 4);
        if (is_child && !strcmp(argv[1], "first")) {
            if (rank == 0) MPI_Send(&mpirun, 1, MPI_INT, 0, 0, inter);
            // It does not come.
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, inter, MPI_STATUS_IGNORE);
            return 1;
        }
        if (!is_child && turn == 0) {
            if (rank == 0) {
                OK(MPI_Recv(&mpirun, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
                CHECK_EQ(kill(mpirun, SIGKILL), 0);
            }
            parents_go_on(inter, all);
        }
        OK(MPI_Comm_free(&all));
        OK(MPI_Comm_free(&inter));
        if (is_child) break;
    }
    return finish();
}
