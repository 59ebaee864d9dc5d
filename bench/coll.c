/* One collective operation at all sizes, on all ranks: coll OPERATION [each] [-fresh] [--quick].
 *
 * The size in a row's name is, in bytes: the buffer of every rank (bcast, reduce, allreduce), the
 * contribution or the share of every rank (gather, scatter, allgather, reduce_scatter), the block for
 * every pair of ranks (alltoall). An operation whose name begins with an i is the nonblocking one,
 * which is completed at once.
 *
 * The calls follow each other without a pause, and the mean of many calls is the time of one. No
 * rank can finish a barrier, allreduce, allgather or alltoall before all ranks have started it. The
 * root of a bcast, or the other ranks in a reduce, could run ahead, so each call there has another
 * root; a scan lets the first ranks run ahead. (A barrier before each call that is not timed would hide the delay of a rank that leaves the
 * barrier late.) Each rank computes a mean, the result of a batch is the largest mean, and `best` is
 * the best batch.
 *
 * All calls use the same buffers, as in common benchmarks, so small data stays in the caches. With
 * "-fresh" each call uses the next of many buffers, so that nothing is cached.
 *
 * Some libraries need seconds for one call when ranks outnumber the CPUs. Each size gets half a
 * second after it was called twice, and no new size starts after LIMIT seconds. Sizes that are left
 * out have no row. "each" says that each rank has its own CPU; it is added to the names of the rows.
 */
#include <mpi.h>

#include "bench.h"

enum { POOL = 48 << 20, LIMIT = 12 };

static int rank, ranks, fresh, each, in_background;
static size_t size;
static int *counts, *starts, *double_counts; /* of a block of `size` for each rank */
static char *out, *in;
static size_t out_step, in_step;
static long spares, turn;

static int root(void)
{
    return (int)(turn % ranks);
}

static int doubles(void)
{
    return (int)(size / sizeof(double));
}

/* Blocking, or, for the operations whose names begin with an i, nonblocking and completed at once. */
#define CALL(blocking, nonblocking, ...)                     \
    do {                                                     \
        if (in_background) {                                 \
            MPI_Request request;                             \
            nonblocking(__VA_ARGS__, &request);              \
            MPI_Wait(&request, MPI_STATUS_IGNORE);           \
        } else                                               \
            blocking(__VA_ARGS__);                           \
    } while (0)

static void barrier(char *a, char *b)
{
    (void)a;
    (void)b;
    CALL(MPI_Barrier, MPI_Ibarrier, MPI_COMM_WORLD);
}

static void bcast(char *a, char *b)
{
    (void)b;
    CALL(MPI_Bcast, MPI_Ibcast, a, (int)size, MPI_BYTE, root(), MPI_COMM_WORLD);
}

static void gather(char *a, char *b)
{
    CALL(MPI_Gather, MPI_Igather, a, (int)size, MPI_BYTE, b, (int)size, MPI_BYTE, root(), MPI_COMM_WORLD);
}

static void gatherv(char *a, char *b)
{
    CALL(MPI_Gatherv, MPI_Igatherv, a, (int)size, MPI_BYTE, b, counts, starts, MPI_BYTE, root(), MPI_COMM_WORLD);
}

static void scatter(char *a, char *b)
{
    CALL(MPI_Scatter, MPI_Iscatter, a, (int)size, MPI_BYTE, b, (int)size, MPI_BYTE, root(), MPI_COMM_WORLD);
}

static void scatterv(char *a, char *b)
{
    CALL(MPI_Scatterv, MPI_Iscatterv, a, counts, starts, MPI_BYTE, b, (int)size, MPI_BYTE, root(), MPI_COMM_WORLD);
}

static void reduce(char *a, char *b)
{
    CALL(MPI_Reduce, MPI_Ireduce, a, b, doubles(), MPI_DOUBLE, MPI_SUM, root(), MPI_COMM_WORLD);
}

static void allreduce(char *a, char *b)
{
    CALL(MPI_Allreduce, MPI_Iallreduce, a, b, doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_block(char *a, char *b)
{
    CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, a, b, doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(char *a, char *b)
{
    CALL(MPI_Reduce_scatter, MPI_Ireduce_scatter, a, b, double_counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(char *a, char *b)
{
    CALL(MPI_Scan, MPI_Iscan, a, b, doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void exscan(char *a, char *b)
{
    CALL(MPI_Exscan, MPI_Iexscan, a, b, doubles(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(char *a, char *b)
{
    CALL(MPI_Allgather, MPI_Iallgather, a, (int)size, MPI_BYTE, b, (int)size, MPI_BYTE, MPI_COMM_WORLD);
}

static void allgatherv(char *a, char *b)
{
    CALL(MPI_Allgatherv, MPI_Iallgatherv, a, (int)size, MPI_BYTE, b, counts, starts, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(char *a, char *b)
{
    CALL(MPI_Alltoall, MPI_Ialltoall, a, (int)size, MPI_BYTE, b, (int)size, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoallv(char *a, char *b)
{
    CALL(MPI_Alltoallv, MPI_Ialltoallv, a, counts, starts, MPI_BYTE, b, counts, starts, MPI_BYTE, MPI_COMM_WORLD);
}

static const struct operation {
    const char *name;
    void (*call)(char *, char *);
    int out_blocks, in_blocks; /* blocks: 1 of `size`, or one for each rank */
} operations[] = {
    {"barrier", barrier, 1, 1},
    {"bcast", bcast, 1, 1},
    {"gather", gather, 1, 0},
    {"gatherv", gatherv, 1, 0},
    {"scatter", scatter, 0, 1},
    {"scatterv", scatterv, 0, 1},
    {"reduce", reduce, 1, 1},
    {"allreduce", allreduce, 1, 1},
    {"reduce_scatter_block", reduce_scatter_block, 0, 1},
    {"reduce_scatter", reduce_scatter, 0, 1},
    {"scan", scan, 1, 1},
    {"exscan", exscan, 1, 1},
    {"allgather", allgather, 1, 0},
    {"allgatherv", allgatherv, 1, 0},
    {"alltoall", alltoall, 0, 0},
    {"alltoallv", alltoallv, 0, 0},
};
static const struct operation *op;

/* Rank 0 gets the largest value of all ranks; the result is valid on rank 0 only. It uses messages
 * only: a library may lack the collectives. */
static double largest(double mine)
{
    for (int i = 1; rank == 0 && i < ranks; i++) {
        double other;
        MPI_Recv(&other, 1, MPI_DOUBLE, i, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mine = other > mine ? other : mine;
    }
    if (rank)
        MPI_Send(&mine, 1, MPI_DOUBLE, 0, 98, MPI_COMM_WORLD);
    return mine;
}

static long tell_all(long n)
{
    for (int i = 1; rank == 0 && i < ranks; i++)
        MPI_Send(&n, 1, MPI_LONG, i, 99, MPI_COMM_WORLD);
    if (rank)
        MPI_Recv(&n, 1, MPI_LONG, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return n;
}

/* Seconds for one call (the mean of n) on the slowest rank; valid on rank 0. */
static double batch(long n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds();
    for (long i = 0; i < n; i++, turn++)
        op->call(out + (size_t)(turn % spares) * out_step, in + (size_t)(turn % spares) * in_step);
    const double spent = seconds() - start;
    return largest(spent / (double)n);
}

/* The number of calls that take about `target` seconds. It is also the warm-up: the set-up costs of
 * the first calls must not make a batch too short. */
static long batch_length(double target)
{
    batch(2);
    batch(2);
    for (long n = 2;;) {
        double start = seconds();
        batch(n);
        double spent = seconds() - start;
        long next = n;
        if (spent < target / 4 && n < 1L << 22) {
            double grow = spent > 0 ? target / spent : 16;
            next = (long)((double)n * (grow > 16 ? 16 : grow < 2 ? 2 : grow));
        }
        next = tell_all(next);
        if (next == n)
            return n;
        n = next;
    }
}

static void measure(int quick)
{
    enum { MAX_REPS = 12 };
    double v[MAX_REPS];
    char label[24], name[80];
    int reps = quick ? 5 : MAX_REPS;
    size_t line = 4096;
    out_step = ((op->out_blocks ? size : size * (size_t)ranks) + line - 1) / line * line;
    in_step = ((op->in_blocks ? size : size * (size_t)ranks) + line - 1) / line * line;
    size_t larger = out_step > in_step ? out_step : in_step;
    spares = fresh ? (long)(POOL / (larger ? larger : line)) : 1;
    spares = spares < 1 ? 1 : spares > 2048 ? 2048 : spares;
    out = page_buffer(out_step * (size_t)spares);
    in = page_buffer(in_step * (size_t)spares);
    memset(out, 0, out_step * (size_t)spares); /* sums stay 0, never slow denormal numbers */

    for (int i = 0; i < ranks; i++) {
        counts[i] = (int)size;
        starts[i] = (int)size * i;
        double_counts[i] = doubles();
    }
    long n = batch_length(quick ? 0.008 : 0.02);
    double start = seconds();
    int done = 0;
    do
        v[done++] = batch(n) * 1e6;
    while (tell_all(done < reps && seconds() - start < 0.5));
    if (rank == 0) {
        int head = snprintf(name, sizeof name, "coll%s%s-%d/%s%s", fresh ? "-fresh" : "", each ? "-all" : "", ranks,
                            in_background ? "i" : "", op->name);
        if (size)
            snprintf(name + head, sizeof name - (size_t)head, "/%s", size_name(size, label));
        report(name, "us", v, done);
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8,        64,       512,       4 << 10, 16 << 10,
                                   32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    each = has_word(argc, argv, "each");
    fresh = has_word(argc, argv, "-fresh");
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (int form = 0; form < 2; form++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", form ? "i" : "", operations[i].name);
            if (has_word(argc, argv, name)) {
                op = &operations[i];
                in_background = form;
            }
        }
    if (!op) {
        fprintf(stderr, "coll: which collective operation?\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    counts = malloc((size_t)ranks * sizeof *counts);
    starts = malloc((size_t)ranks * sizeof *starts);
    double_counts = malloc((size_t)ranks * sizeof *double_counts);
    if (!counts || !starts || !double_counts) {
        fprintf(stderr, "coll: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double start = seconds();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && tell_all(seconds() - start < LIMIT); i++) {
        size = op->call == barrier ? 0 : sizes[i];
        measure(is_quick(argc, argv));
        if (op->call == barrier)
            break;
    }
    MPI_Finalize();
    return 0;
}
