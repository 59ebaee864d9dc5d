// go_on LOST [DEATH RANK]…: ranks exchange messages, agree and make windows until so many have died, and finish with those that
// are left. A rank that is named dies after a second (kill).
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, started;

static int work(MPI_Comm comm, int turn) {
    static char out[100000], in[100000];
    int me, n, code, left, right, sum = 0, one = 1, *memory, value = turn;
    MPI_Win win;
    MPI_Comm_rank(comm, &me), MPI_Comm_size(comm, &n);
    left = (me + n - 1) % n, right = (me + 1) % n;
    code = MPI_Sendrecv(out, sizeof out, MPI_CHAR, right, 1, in, sizeof in, MPI_CHAR, left, 1, comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (code == MPI_SUCCESS && sum != n) MPI_Abort(MPI_COMM_WORLD, 7);
    if (code != MPI_SUCCESS || turn % 10 != 0) return code;
    code = MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    if (code != MPI_SUCCESS) return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    code = MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    if (code == MPI_SUCCESS) {
        code = MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        int unlocked = MPI_Win_unlock(right, win);
        if (code == MPI_SUCCESS) code = unlocked;
    }
    MPI_Win_free(&win);
    return code;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int lost = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm comm = MPI_COMM_WORLD, next;
    double begin = MPI_Wtime();
    for (int turn = 0;; turn++) {
        int n, ok, done;
        for (int i = 2; i + 1 < argc; i += 2)
            if (rank == atoi(argv[i + 1]) && MPI_Wtime() > begin + 1) raise(SIGKILL);
        ok = work(comm, turn) == MPI_SUCCESS;
        if (turn == 3 && !started++) printf("rank %d works\n", rank), fflush(stdout);
        MPIX_Comm_failure_ack(comm);
        int agreed = MPIX_Comm_agree(comm, &ok);
        if (!ok || agreed != MPI_SUCCESS) {
            MPIX_Comm_revoke(comm);
            if (MPIX_Comm_shrink(comm, &next) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 8);
            if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
            comm = next;
        }
        MPI_Comm_size(comm, &n);
        done = n <= size - lost;
        if (MPIX_Comm_agree(comm, &done) == MPI_SUCCESS && done && work(comm, turn) == MPI_SUCCESS) {
            printf("rank %d goes on, one of %d\n", rank, n), fflush(stdout);
            break;
        }
        usleep(2000);
    }
    MPI_Finalize();
    return 0;
}
