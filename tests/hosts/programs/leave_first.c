// leave_first: the first rank of every node leaves MPI at once, and the others go on: messages between all of them, sums,
// and accesses of windows, for some seconds. At the end they say "all well".
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(int is, const char *what) {
    if (is) return;
    printf("wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int rank, size, local;
    MPI_Comm node, others;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? MPI_UNDEFINED : 0, rank, &others);
    if (others == MPI_COMM_NULL) {
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(others, &rank);
    MPI_Comm_size(others, &size);
    double end = MPI_Wtime() + 2;
    for (int round = 0, more = 1; more; round++) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size, got = -1, sum = 0;
        MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, others, MPI_STATUS_IGNORE);
        expect(got == left, "a message");
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, others);
        expect(sum == size * (size - 1) / 2, "a sum");
        int *base, one = 1;
        MPI_Win win;
        MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, others, &base, &win);
        *base = 0;
        MPI_Barrier(others);
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(right, win);
        MPI_Barrier(others);
        expect(*base == 1, "an accumulate");
        MPI_Win_free(&win);
        more = MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, others);
    }
    if (rank == 0) printf("all well\n");
    MPI_Finalize();
    return 0;
}
