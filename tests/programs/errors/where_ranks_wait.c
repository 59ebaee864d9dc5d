// ranks: 5
// sleeps: it waits for the time limit of mpirun
// launch: --timeout 4
// env: OXMPI_DEADLOCK=off
// expect-exit: 124
// expect-stderr: the time limit of 4 s was reached (--timeout, which takes the place of MPIEXEC_TIMEOUT) and the job was stopped:
// expect-stderr: rank 0 in MPI_Recv at where_ranks_wait.c:28 from rank 1, tag 7, on MPI_COMM_WORLD (arrived, but not received: from rank 1, tag 5, on MPI_COMM_WORLD, 4 bytes; from rank 1, tag 8, on a friend, 4 bytes)
// expect-stderr: rank 1 in MPI_Ssend at where_ranks_wait.c:31 to rank 0, tag 8, on a friend
// expect-stderr: rank 2 in MPI_Waitall at where_ranks_wait.c:36 for a receive from rank 0, any tag, on MPI_COMM_WORLD
// expect-stderr: rank 3 in MPI_Bcast at where_ranks_wait.c:38 on a friend
// expect-stderr: rank 4 in MPI_Win_lock at where_ranks_wait.c:39 for the lock of rank 3
// Ranks wait for what will never come; mpirun says where each is, with peer, tag and communicator.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0, *base;
    MPI_Comm copy;
    MPI_Win win;
    MPI_Request requests[2];
    start(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_name(copy, "a friend");
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_set_name(win, "a window");
    if (rank == 3) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 3, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    switch (rank) {
    case 0: MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
    case 1:
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Ssend(&value, 1, MPI_INT, 0, 8, copy);
        break;
    case 2:
        MPI_Irecv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    case 3: MPI_Bcast(&value, 1, MPI_INT, 0, copy); break;
    default: MPI_Win_lock(MPI_LOCK_SHARED, 3, 0, win);
    }
    return finish();
}
