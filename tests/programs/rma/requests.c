// ranks: 1 2 4
// timeout: 30
// Request-based operations, completed in every way, also together with messages.
#include "windows.h"

int main(int argc, char **argv) {
    enum { N = 20 };
    start(&argc, &argv);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int kind = 0; kind < KINDS; kind++) {
        Window w = window(kind, 4 * N * sizeof(int), 1);
        MPI_Request requests[N + 2];
        MPI_Status statuses[N + 2];
        int out[N], in[N], old[N], sum[N], index, flag, count, indices[N], message = -1;
        for (int i = 0; i < N; i++) out[i] = rank * 100 + i, sum[i] = i;
        MPI_Win_lock_all(0, w.win);
        for (int i = 0; i < N; i++)
            MPI_Rput(&out[i], 1, MPI_INT, next, place(&w, next, 4 * i), 1, MPI_INT, w.win, &requests[i]);
        MPI_Irecv(&message, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &requests[N]);
        MPI_Isend(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[N + 1]);
        MPI_Waitall(N + 2, requests, statuses);
        CHECK_EQ(message, previous);
        for (int i = 0; i < N + 2; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
        MPI_Win_flush(next, w.win);
        for (int i = 0; i < N; i++)
            MPI_Rget_c(&in[i], 1, MPI_INT, next, place(&w, next, 4 * i), 1, MPI_INT, w.win, &requests[i]);
        for (int i = 0; i < N; i++) {
            MPI_Waitany(N, requests, &index, MPI_STATUS_IGNORE);
            CHECK_EQ(in[index], out[index]);
        }
        for (int i = 0; i < N; i++)
            MPI_Raccumulate(&sum[i], 1, MPI_INT, next, place(&w, next, 4 * i), 1, MPI_INT, MPI_SUM, w.win, &requests[i]);
        MPI_Testall(N, requests, &flag, MPI_STATUSES_IGNORE);
        if (!flag) MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; i++)
            MPI_Rget_accumulate(&sum[i], 1, MPI_INT, &old[i], 1, MPI_INT, next, place(&w, next, 4 * i), 1, MPI_INT, MPI_SUM,
                                w.win, &requests[i]);
        for (int left = N; left;) {
            MPI_Waitsome(N, requests, &count, indices, MPI_STATUSES_IGNORE);
            CHECK(count != MPI_UNDEFINED && count > 0);
            left -= count;
        }
        for (int i = 0; i < N; i++) CHECK_EQ(old[i], out[i] + i);
        MPI_Rget_accumulate_c(NULL, 0, MPI_DATATYPE_NULL, &old[0], 1, MPI_INT, next, place(&w, next, 4), 1, MPI_INT,
                              MPI_NO_OP, w.win, &requests[0]);
        MPI_Wait(&requests[0], &statuses[0]);
        CHECK_EQ(old[0], out[1] + 2);
        MPI_Rput(out, 0, MPI_INT, next, place(&w, next, 0), 0, MPI_INT, w.win, &requests[0]);
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        if (!flag) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(requests[0] == MPI_REQUEST_NULL);
        MPI_Win_unlock_all(w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w.win);
        for (int i = 0; i < N; i++) CHECK_EQ(((int *)w.base)[i], previous * 100 + i + 2 * i);
        MPI_Win_unlock(rank, w.win);
        MPI_Barrier(MPI_COMM_WORLD);
        window_free(&w);
    }
    MPI_Finalize();
    return 0;
}
