// ranks: 3 8
// launch: --check=error
// One-sided accesses that are right, although they look like conflicts: nothing is told.
#include "../check.h"
#include <unistd.h>

static int *memory;
static MPI_Win win;

// Accesses of one place in epochs of their own, and beside each other in one.
static void fences(void) {
    int values[4] = {rank, rank + 1, 0, 0}, next = (rank + 1) % size;
    MPI_Win_fence(0, win);
    for (int round = 0; round < 5; round++) {
        MPI_Put(values, 2, MPI_INT, next, 0, 2, MPI_INT, win);
        MPI_Put(values, 1, MPI_INT, next, 2, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK_EQ(memory[0], (rank + size - 1) % size);
        memory[0] = 100 + round;
        memory[1]++;
        MPI_Win_fence(0, win);
        MPI_Get(&values[2], 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Get(&values[3], 1, MPI_INT, next, 0, 1, MPI_INT, win);
        memory[5] = round;
        MPI_Win_fence(0, win);
        CHECK_EQ(values[2], 100 + round);
        values[2] = 0;
        // Accumulates of all ranks, with one operation; a put beside them.
        MPI_Accumulate(values, 1, MPI_INT, 0, 8, 1, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(values, 1, MPI_INT, 0, 8, 1, MPI_INT, MPI_SUM, win);
        MPI_Put(&values[1], 1, MPI_INT, 0, 16 + rank, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
    }
    // The target stores, says so, and then another one puts.
    if (rank == 0) memory[3] = 5;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Put(values, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

// Interleaved columns: the ranges overlap, the elements do not.
static void columns(void) {
    MPI_Datatype column;
    MPI_Type_vector(4, 1, size, MPI_INT, &column);
    MPI_Type_commit(&column);
    int values[4] = {rank, rank, rank, rank};
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(values, 4, MPI_INT, 0, rank, 1, column, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 0) CHECK_EQ(memory[size + 1], 1);
    MPI_Type_free(&column);
}

// Put, flush, tell, then another one puts or gets there.
static void locks(void) {
    int value = rank, seen = -1;
    MPI_Win_lock_all(0, win);
    for (int turn = 0; turn < size; turn++) {
        if (rank == turn) {
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
            MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_flush(0, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush_local(0, win);
        CHECK_EQ(seen, turn);
        MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    // A chain of flags: each waits for the one before it, and then changes the same data.
    int one = 1, flag = 0, next = (rank + 1) % size;
    if (rank != 0) {
        while (flag == 0) {
            MPI_Fetch_and_op(NULL, &flag, MPI_INT, rank, 40, MPI_NO_OP, win);
            MPI_Win_flush(rank, win);
        }
    }
    MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    MPI_Accumulate(&one, 1, MPI_INT, next, 40, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush(next, win);
    // A request: its buffer can be used when that is complete.
    MPI_Request request;
    MPI_Rput(&value, 1, MPI_INT, 0, 64 + rank, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    value = 77;
    MPI_Rget(&value, 1, MPI_INT, 0, 64 + rank, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(value, rank);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    // Under exclusive locks all may do anything.
    for (int round = 0; round < 5; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&seen, 1, MPI_INT, 0, 2, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        seen++;
        MPI_Put(&seen, 1, MPI_INT, 0, 2, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        seen = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // A shared lock, then an exclusive one of another rank, which tells a third one.
    int five = 5, there = 0, token = 0;
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Put(&five, 1, MPI_INT, 0, 30, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        usleep(200000);
    } else if (rank == 1) {
        while (there != 5) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Get(&there, 1, MPI_INT, 0, 30, 1, MPI_INT, win);
            MPI_Win_unlock(0, win);
        }
        MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Put(&token, 1, MPI_INT, 0, 30, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// An exposure after another; the target stores between them.
static void exposures(void) {
    MPI_Group all, one, others;
    int zero = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &zero, &one);
    MPI_Group_excl(all, 1, &zero, &others);
    for (int round = 0; round < 5; round++) {
        if (rank == 0) {
            memory[1] = memory[2] = round;
            MPI_Win_post(others, 0, win);
            memory[100] = round;
            MPI_Win_wait(win);
            CHECK_EQ(memory[1], 1);
        } else {
            MPI_Win_start(one, 0, win);
            MPI_Put(&rank, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
    }
    MPI_Group_free(&all);
    MPI_Group_free(&one);
    MPI_Group_free(&others);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Win_allocate(256 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 256 * sizeof(int));
    fences();
    columns();
    memset(memory, 0, 256 * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    locks();
    exposures();
    MPI_Win_free(&win);
    // Memory of the program, which others reach with system calls.
    int own[256] = {0};
    MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memory = own;
    fences();
    columns();
    exposures();
    MPI_Win_free(&win);
    return finish();
}
