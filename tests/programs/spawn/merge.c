// ranks: 1 2 3
// timeout: 120
// Parents and children merge into one communicator and use it as any other: messages of all lengths, collective operations, split, and
// windows.
#include "family.h"

static void collectives(MPI_Comm all, int me, int n) {
    int sum = 0, *list = get_memory((size_t)n * sizeof *list), *back = get_memory((size_t)n * sizeof *back);
    for (int round = 0; round < 20; round++) {
        OK(MPI_Barrier(all));
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all));
        CHECK_EQ(sum, n * (n - 1) / 2);
        for (int i = 0; i < n; i++) list[i] = 100 * me + i;
        OK(MPI_Alltoall(list, 1, MPI_INT, back, 1, MPI_INT, all));
        for (int i = 0; i < n; i++) CHECK_EQ(back[i], 100 * i + me);
        int root = round % n, word = me == root ? 77 + round : -1;
        OK(MPI_Bcast(&word, 1, MPI_INT, root, all));
        CHECK_EQ(word, 77 + round);
    }
    size_t length = 3 << 20;
    char *large = get_memory(length);
    if (me == n - 1) fill(large, length, 5);
    OK(MPI_Bcast(large, (int)length, MPI_BYTE, n - 1, all));
    CHECK_PATTERN(large, length, 5);
    free(large);
    free(list);
    free(back);
}

static void messages(MPI_Comm all, int me, int n) {
    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (size_t length = 0; length <= 1 << 22; length = length ? 4 * length : 1) {
        char *out = get_memory(length), *in = get_memory(length);
        MPI_Status status;
        fill(out, length, (unsigned)me);
        OK(MPI_Sendrecv(out, (int)length, MPI_BYTE, right, 3, in, (int)length, MPI_BYTE, left, 3, all, &status));
        CHECK_STATUS(status, left, 3, (MPI_Count)length);
        CHECK_PATTERN(in, length, (unsigned)left);
        free(out);
        free(in);
    }
}

static void windows(MPI_Comm all, int me, int n) {
    MPI_Win win;
    int *memory, right = (me + 1) % n, value = 1000 + me, got = -1;
    OK(MPI_Win_allocate(sizeof(int) * 2, sizeof(int), MPI_INFO_NULL, all, &memory, &win));
    memory[0] = memory[1] = -1;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(memory[0], 1000 + (me + n - 1) % n);
    OK(MPI_Get(&got, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    CHECK_EQ(got, 1000 + me);
    OK(MPI_Win_free(&win));
}

static void together(MPI_Comm inter, int high) {
    MPI_Comm all, half;
    int me, n, flag;
    OK(MPI_Intercomm_merge(inter, high, &all));
    OK(MPI_Comm_rank(all, &me));
    OK(MPI_Comm_size(all, &n));
    OK(MPI_Comm_test_inter(all, &flag));
    CHECK(!flag);
    // The parents are low.
    int low;
    OK(high ? MPI_Comm_remote_size(inter, &low) : MPI_Comm_size(inter, &low));
    CHECK_EQ(me, high ? low + rank : rank);
    collectives(all, me, n);
    messages(all, me, n);
    // The jobs share no memory if one of them is on several hosts, and have no window together.
    int own = on_hosts(), hosts;
    OK(MPI_Allreduce(&own, &hosts, 1, MPI_INT, MPI_MAX, all));
    if (!hosts) windows(all, me, n);
    OK(MPI_Comm_split(all, me % 2, -me, &half));
    int part, at, sum;
    OK(MPI_Comm_size(half, &part));
    OK(MPI_Comm_rank(half, &at));
    CHECK_EQ(part, (n + 1 - me % 2) / 2);
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, half));
    int expected = 0;
    for (int i = me % 2; i < n; i += 2) expected += i;
    CHECK_EQ(sum, expected);
    OK(MPI_Comm_disconnect(&half));
    OK(MPI_Comm_disconnect(&all));
    OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
        together(parent, 1);
        return finish();
    }
    MPI_Comm children;
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    together(children, 0);
    OK(spawn_self(argv, "child", 3, size - 1, MPI_COMM_WORLD, &children));
    together(children, 0);
    return finish();
}
