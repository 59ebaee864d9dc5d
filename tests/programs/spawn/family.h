// The common part of programs that spawn themselves. The first argument of a child says what it
// must do.
#include "../check.h"

static MPI_Comm parent = MPI_COMM_NULL;

// Spawns `n` copies of the program itself, as `role`; errors are returned.
CHECK_UNUSED static int spawn_self(char **argv, const char *role, int n, int root, MPI_Comm comm, MPI_Comm *children) {
    char *arguments[] = {(char *)role, NULL};
    return MPI_Comm_spawn(argv[0], arguments, n, MPI_INFO_NULL, root, comm, children, MPI_ERRCODES_IGNORE);
}

// Each process of the two groups sends a message to each process of the other.
CHECK_UNUSED static void greet(MPI_Comm inter) {
    int own, far;
    OK(MPI_Comm_rank(inter, &own));
    OK(MPI_Comm_remote_size(inter, &far));
    MPI_Request *requests = get_memory(2 * (size_t)far * sizeof *requests);
    int *heard = get_memory((size_t)far * sizeof *heard), *said = get_memory((size_t)far * sizeof *said);
    for (int i = 0; i < far; i++) {
        said[i] = 1000 * own + i;
        OK(MPI_Irecv(&heard[i], 1, MPI_INT, i, 7, inter, &requests[i]));
        OK(MPI_Isend(&said[i], 1, MPI_INT, i, 7, inter, &requests[far + i]));
    }
    OK(MPI_Waitall(2 * far, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < far; i++) CHECK_EQ(heard[i], 1000 * i + own);
    free(requests);
    free(heard);
    free(said);
}

CHECK_UNUSED static int is_child(void) {
    OK(MPI_Comm_get_parent(&parent));
    return parent != MPI_COMM_NULL;
}
