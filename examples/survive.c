// Goes on when ranks die. Each rank computes some blocks, and keeps a copy of the blocks of its left neighbour from the last checkpoint. When ranks
// die (here two of them kill themselves), the others make a communicator without them, the right neighbours of the dead take
// over their blocks, and all begin again at the checkpoint. The result is the one without failures.
//
//   mpicc survive.c -o survive
//   mpirun --with-ft ulfm -n 4 ./survive

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24, STEPS = 60, EVERY = 10 };

typedef struct {
    int count, step;
    int number[BLOCKS];
    double value[BLOCKS];
} State;

static MPI_Comm comm;
static int rank, size;
// Now; at the last checkpoint; the left neighbour's at the last checkpoint.
static State now, saved, neighbours;

static double next(double value, int number) { return 3.7 * value * (1 - value) * (1 - number * 1e-3); }

// One step of all blocks, and the sum over all of them.
static int compute(double *sum) {
    double own = 0;
    for (int i = 0; i < now.count; i++) {
        now.value[i] = next(now.value[i], now.number[i]);
        own += now.value[i];
    }
    now.step++;
    return MPI_Allreduce(&own, sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

// Whether something has worked for all, who get the same answer.
static int all_well(int code) {
    int flag = code == MPI_SUCCESS;
    if (!flag) MPIX_Comm_revoke(comm);
    return MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag;
}

// The old checkpoint counts until all have the new one.
static int checkpoint(void) {
    State received;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int code = MPI_Sendrecv(&now, sizeof now, MPI_BYTE, right, 0, &received, sizeof received, MPI_BYTE, left, 0, comm,
                            MPI_STATUS_IGNORE);
    if (!all_well(code)) return 0;
    saved = now;
    neighbours = received;
    return 1;
}

static void lose(const char *why) {
    if (rank == 0) fprintf(stderr, "cannot go on: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// A communicator of the survivors; the blocks of a dead rank go to its right neighbour.
static void repair(void) {
    MPI_Comm left;
    MPI_Group before, after;
    int left_neighbour = (rank + size - 1) % size, place;
    MPIX_Comm_shrink(comm, &left);
    MPI_Comm_group(comm, &before);
    MPI_Comm_group(left, &after);
    int lost = 0;
    for (int old = 0; old < size; old++) {
        int buddy = (old + 1) % size, its_place;
        MPI_Group_translate_ranks(before, 1, &old, after, &place);
        MPI_Group_translate_ranks(before, 1, &buddy, after, &its_place);
        lost |= place == MPI_UNDEFINED && its_place == MPI_UNDEFINED;
    }
    MPI_Group_translate_ranks(before, 1, &left_neighbour, after, &place);
    if (lost) lose("two neighbours have died at once");
    if (place == MPI_UNDEFINED) {
        memcpy(saved.number + saved.count, neighbours.number, neighbours.count * sizeof(int));
        memcpy(saved.value + saved.count, neighbours.value, neighbours.count * sizeof(double));
        saved.count += neighbours.count;
        neighbours.count = 0;
    }
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    comm = left;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    now = saved;
    if (rank == 0) printf("%d ranks go on from step %d\n", size, now.step);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    // Without it the first error would end the job.
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int first_rank = rank, first_size = size;
    for (int i = rank; i < BLOCKS; i += size) {
        now.number[now.count] = i;
        now.value[now.count++] = 0.5;
    }
    double sum = 0, expected = 0;
    if (!checkpoint()) lose("a rank has died before the first checkpoint");
    while (now.step < STEPS) {
        // What shall not happen: two ranks die, one after the other.
        if (now.step == 17 && first_rank == 1 && first_size > 2) raise(SIGKILL);
        if (now.step == 41 && first_rank == 2 && first_size > 3) raise(SIGKILL);
        int code = compute(&sum);
        if (now.step % EVERY) {
            // Ranks that have got the sum hear of a failure at the next call.
            if (code == MPI_SUCCESS) continue;
            MPIX_Comm_revoke(comm);
        } else if (all_well(code) && checkpoint()) {
            continue;
        }
        repair();
        if (!checkpoint()) lose("a rank has died before the others had copies of its blocks");
    }
    for (int i = 0; i < BLOCKS; i++) {
        double value = 0.5;
        for (int step = 0; step < STEPS; step++) value = next(value, i);
        expected += value;
    }
    if (rank == 0) {
        int is_right = sum > expected - 1e-9 && sum < expected + 1e-9;
        printf("the sum is %.6f, which is %s\n", sum, is_right ? "right" : "wrong");
    }
    MPI_Finalize();
    return 0;
}
