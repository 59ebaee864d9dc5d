// ranks: 3
// args: nobody
// args: parent
// args: child
// args: both
// launch: --with-ft ulfm
// no-valgrind: a rank is killed
// Parents and the children that they have spawned agree, shrink and revoke, on the intercommunicator between them and on the merged one,
// before and after a rank of one job or of both has died.
#include "ft.h"

static int is_child, dead_parent, dead_child;

// Both forms of agree give the same.
static void agree_on(MPI_Comm comm, int mine, int code, int expected) {
    int flag = mine, later = mine;
    MPI_Request request;
    FAILS(MPIX_Comm_agree(comm, &flag), code);
    CHECK_EQ(flag, expected);
    OK(MPIX_Comm_iagree(comm, &later, &request));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), code);
    CHECK_EQ(later, expected);
}

static void works(MPI_Comm inter, int near, int far) {
    int one = 1, sum = 0, n = -1;
    MPI_Comm_size(inter, &n);
    CHECK_EQ(n, near);
    MPI_Comm_remote_size(inter, &n);
    CHECK_EQ(n, far);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_EQ(sum, far);
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_Comm inter, all, left, pair;
    MPI_Request request;
    int all_rank, byte;
    char *args[] = {argv[1], NULL};
    dead_parent = argv[1][0] == 'p' || argv[1][0] == 'b';
    dead_child = argv[1][0] == 'c' || argv[1][0] == 'b';
    MPI_Comm_get_parent(&inter);
    is_child = inter != MPI_COMM_NULL;
    if (!is_child)
        OK(MPI_Comm_spawn(argv[0], args, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    OK(MPI_Intercomm_merge(inter, is_child, &all));
    MPI_Comm_rank(all, &all_rank);

    // Between groups the flags of the other group count.
    int mine = is_child ? 13 : 11;
    agree_on(all, mine, MPI_SUCCESS, 9);
    agree_on(inter, mine, MPI_SUCCESS, is_child ? 11 : 13);
    OK(MPIX_Comm_shrink(inter, &pair));
    works(pair, 3, 3);
    OK(MPI_Comm_free(&pair));
    OK(MPIX_Comm_ishrink(all, &left, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Comm_free(&left);
    left = shrunk(all, 6);
    OK(MPI_Comm_free(&left));

    meet(all);
    if (is_child ? dead_child && rank == 2 : dead_parent && rank == 1) die();
    int dead = dead_parent + dead_child, code = dead ? PROC_FAILED : MPI_SUCCESS;
    agree_on(all, mine, code, 9);
    CHECK_EQ(failures(all), dead);
    OK(MPIX_Comm_failure_ack(all));
    agree_on(all, mine, MPI_SUCCESS, 9);
    agree_on(inter, mine, code, is_child ? 11 : 13);

    // One revokes it, while the others wait for something that never comes.
    if (all_rank == 0) OK(MPIX_Comm_revoke(all));
    FAILS(MPI_Recv(&byte, 1, MPI_INT, 0, 5, all, MPI_STATUS_IGNORE), REVOKED);
    agree_on(all, mine, MPI_SUCCESS, 9);
    left = shrunk(all, 6 - dead);
    OK(MPI_Comm_free(&left));
    if (is_child && rank == 0) OK(MPIX_Comm_revoke(inter));
    FAILS(MPI_Recv(&byte, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE), REVOKED);
    OK(MPIX_Comm_shrink(inter, &pair));
    works(pair, 3 - (is_child ? dead_child : dead_parent), 3 - (is_child ? dead_parent : dead_child));
    OK(MPI_Comm_free(&pair));
    OK(MPI_Comm_free(&all));
    OK(MPI_Comm_disconnect(&inter));
    return finish();
}
