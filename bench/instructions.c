// instructions CALL: 200 calls of one kind between two ranks, of which the second never waits for the first, so that
// bench/ft-instructions can count what a call of it executes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 200, BYTES = 8 };

static void wait_for_others(void) {
    struct timespec time = {0, 20000000};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv) {
    int rank;
    long in[CALLS], out = 1, *memory;
    MPI_Request requests[CALLS];
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *call = argc > 1 ? argv[1] : "";
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < CALLS; i++) {
        // The second rank comes when the first has done its part.
        if (i % 50 == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 1) wait_for_others();
        }
        if (strcmp(call, "MPI_Send") == 0) {
            if (rank == 1) MPI_Send(&out, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            if (rank == 0) MPI_Recv(in, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (strcmp(call, "MPI_Recv") == 0) {
            if (rank == 0) MPI_Send(&out, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            if (rank == 1) MPI_Recv(in, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (strcmp(call, "MPI_Isend") == 0 || strcmp(call, "MPI_Wait") == 0) {
            if (rank == 1) MPI_Isend(&out, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[0]);
            if (rank == 1) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            if (rank == 0) MPI_Recv(in, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (strcmp(call, "MPI_Irecv") == 0) {
            if (rank == 0) MPI_Send(&out, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            if (rank == 1) MPI_Irecv(in, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[0]);
            if (rank == 1) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else if (strcmp(call, "MPI_Test") == 0) {
            // Nothing comes.
            int flag;
            if (rank == 1 && i == 0) MPI_Irecv(in, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[0]);
            if (rank == 1) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        } else if (strcmp(call, "MPI_Put") == 0) {
            if (rank == 1) MPI_Put(&out, BYTES, MPI_BYTE, 0, 0, BYTES, MPI_BYTE, win);
        } else if (strcmp(call, "MPI_Win_flush") == 0) {
            if (rank == 1) MPI_Win_flush(0, win);
        } else if (strcmp(call, "MPI_Accumulate") == 0) {
            if (rank == 1) MPI_Accumulate(&out, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
        } else if (strcmp(call, "MPI_Bcast") == 0) {
            if (rank == 1 && i % 50 != 0) wait_for_others();
            MPI_Bcast(&out, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
        } else if (strcmp(call, "MPI_Allreduce") == 0) {
            if (rank == 1 && i % 50 != 0) wait_for_others();
            MPI_Allreduce(&out, in, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
        } else {
            fprintf(stderr, "no call is named %s\n", call);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    if (strcmp(call, "MPI_Test") == 0) {
        if (rank == 0) MPI_Send(&out, BYTES, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        if (rank == 1) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
