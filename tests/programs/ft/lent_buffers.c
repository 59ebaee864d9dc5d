// ranks: 2 4 8
// args: bcast
// args: gather
// args: scatter
// args: allgather
// args: alltoall
// args: reduce
// args: allreduce
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-check: leaves a communicator after a death
// no-valgrind: a rank is killed
// A rank dies at some moment during long collective operations, in which the ranks copy between each other's memory. Whoever gets the
// error has its buffers for itself from then on; what was complete before is right.
#include "ft.h"
#include <sys/time.h>
#include <unistd.h>

enum { BLOCK = 1 << 18, TURNS = 100000 };

static const char *what;

static void die_now(int number) {
    (void)number;
    kill(getpid(), SIGKILL);
}

static int run(int *in, int *out, int n) {
    if (!strcmp(what, "bcast")) return MPI_Bcast(rank == 0 ? in : out, BLOCK * n, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "gather")) return MPI_Gather(in, BLOCK, MPI_INT, out, BLOCK, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "scatter")) return MPI_Scatter(in, BLOCK, MPI_INT, out, BLOCK, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "allgather")) return MPI_Allgather(in, BLOCK, MPI_INT, out, BLOCK, MPI_INT, MPI_COMM_WORLD);
    if (!strcmp(what, "alltoall")) return MPI_Alltoall(in, BLOCK, MPI_INT, out, BLOCK, MPI_INT, MPI_COMM_WORLD);
    if (!strcmp(what, "reduce")) return MPI_Reduce(in, out, BLOCK * n, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    return MPI_Allreduce(in, out, BLOCK * n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    what = argc > 1 ? argv[1] : "allreduce";
    int code = MPI_SUCCESS, count = BLOCK * size;
    int *in = malloc(sizeof(int) * count), *out = malloc(sizeof(int) * count);
    for (int i = 0; i < count; i++) in[i] = 3;
    meet_at(size - 1);
    if (rank == size - 1) {
        struct itimerval timer = {{0, 0}, {0, 1 + (int)(getpid() * 7919u % 60000)}};
        signal(SIGALRM, die_now);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
    for (int turn = 0; turn < TURNS && code == MPI_SUCCESS; turn++) {
        out[0] = -1;
        code = run(in, out, size);
        int is_sum = !strcmp(what, "allreduce") || (!strcmp(what, "reduce") && rank == 0);
        int gets = is_sum || !strcmp(what, "allgather") || !strcmp(what, "alltoall") || !strcmp(what, "scatter");
        if (code == MPI_SUCCESS && gets) CHECK_EQ(out[0], is_sum ? 3 * size : 3);
    }
    if (rank == size - 1) pause();
    CHECK_EQ(code, PROC_FAILED);
    // The buffers are this program's again.
    for (int i = 0; i < count; i++) in[i] = out[i] = 7 + i;
    sleep_ms(30);
    for (int i = 0; i < count; i++)
        if (in[i] != 7 + i || out[i] != 7 + i) CHECK_FAIL("element %d has changed after the error: %d, %d", i, in[i], out[i]);
    MPI_Comm left = shrunk(MPI_COMM_WORLD, size - 1);
    OK(MPI_Comm_free(&left));
    free(in);
    free(out);
    return finish();
}
