/* One collective operation at all sizes, on all ranks: coll OPERATION [each] [-fresh] [--quick].
 *
 * The size in a row's name is, in bytes: the buffer of every rank (bcast, reduce, allreduce), the
 * contribution or the share of every rank (gather, scatter, allgather, reduce_scatter), the block for
 * every pair of ranks (alltoall, alltoallv, alltoallw), the block for each neighbour in a ring
 * (neighbor_allgather, neighbor_alltoall). An operation whose name begins with an i is the nonblocking one,
 * which is completed at once; one whose name ends with _init is the persistent one: it is started and completed, always with
 * root 0.
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

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

static int rank, ranks, fresh, each;
static enum form form;
static MPI_Comm ring;
static MPI_Datatype *types;
static MPI_Request kept = MPI_REQUEST_NULL; /* of the persistent operation */
static size_t size;
static int *counts, *starts, *double_counts; /* of a block of `size` for each rank */
static char *out, *in;
static size_t out_step, in_step;
static long spares, turn;

static int root(void)
{
    return form == PERSISTENT ? 0 : (int)(turn % ranks);
}

static int doubles(void)
{
    return (int)(size / sizeof(double));
}

/* Blocking; nonblocking and completed at once; or persistent, initialized by the first call of a size. */
#define CALL(blocking, nonblocking, ...)                       \
    do {                                                       \
        MPI_Request request;                                   \
        switch (form) {                                        \
        case BLOCKING:                                         \
            blocking(__VA_ARGS__);                             \
            break;                                             \
        case NONBLOCKING:                                      \
            nonblocking(__VA_ARGS__, &request);                \
            MPI_Wait(&request, MPI_STATUS_IGNORE);             \
            break;                                             \
        case PERSISTENT:                                       \
            if (kept == MPI_REQUEST_NULL)                      \
                INIT(blocking, __VA_ARGS__);                   \
            MPI_Start(&kept);                                  \
            MPI_Wait(&kept, MPI_STATUS_IGNORE);                \
            break;                                             \
        }                                                      \
    } while (0)

#if MPI_VERSION >= 4
#define INIT(blocking, ...) blocking##_init(__VA_ARGS__, MPI_INFO_NULL, &kept)
#else
#define INIT(blocking, ...) MPI_Abort(MPI_COMM_WORLD, 2) /* there are none before MPI 4 */
#endif

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

static void alltoallw(char *a, char *b)
{
    CALL(MPI_Alltoallw, MPI_Ialltoallw, a, counts, starts, types, b, counts, starts, types, MPI_COMM_WORLD);
}

static void neighbor_allgather(char *a, char *b)
{
    CALL(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, a, (int)size, MPI_BYTE, b, (int)size, MPI_BYTE, ring);
}

static void neighbor_alltoall(char *a, char *b)
{
    CALL(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, a, (int)size, MPI_BYTE, b, (int)size, MPI_BYTE, ring);
}

static const struct operation {
    const char *name;
    void (*call)(char *, char *);
    int out_blocks, in_blocks; /* so many of `size`; 0: one for each rank */
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
    {"alltoallw", alltoallw, 0, 0},
    {"neighbor_allgather", neighbor_allgather, 1, 2},
    {"neighbor_alltoall", neighbor_alltoall, 2, 2},
};
static const struct operation *op;

/* Seconds for one call (the mean of n) on the slowest rank; valid on rank 0. */
static double batch(long n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = seconds();
    for (long i = 0; i < n; i++, turn++)
        op->call(out + (size_t)(turn % spares) * out_step, in + (size_t)(turn % spares) * in_step);
    const double spent = seconds() - start;
    return largest(rank, ranks, spent / (double)n);
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
        next = tell_all(rank, ranks, next);
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
    out_step = (size * (size_t)(op->out_blocks ? op->out_blocks : ranks) + line - 1) / line * line;
    in_step = (size * (size_t)(op->in_blocks ? op->in_blocks : ranks) + line - 1) / line * line;
    size_t larger = out_step > in_step ? out_step : in_step;
    spares = fresh && form != PERSISTENT ? (long)(POOL / (larger ? larger : line)) : 1;
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
    while (tell_all(rank, ranks, done < reps && seconds() - start < 0.5));
    if (rank == 0) {
        int head = snprintf(name, sizeof name, "coll%s%s-%d/%s%s%s", fresh ? "-fresh" : "", each ? "-all" : "", ranks,
                            form == NONBLOCKING ? "i" : "", op->name, form == PERSISTENT ? "_init" : "");
        if (size)
            snprintf(name + head, sizeof name - (size_t)head, "/%s", size_name(size, label));
        report(name, "us", v, done);
    }
    if (kept != MPI_REQUEST_NULL)
        MPI_Request_free(&kept);
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
        for (int f = BLOCKING; f <= PERSISTENT; f++) {
            char name[40];
            snprintf(name, sizeof name, "%s%s%s", f == NONBLOCKING ? "i" : "", operations[i].name, f == PERSISTENT ? "_init" : "");
            if (has_word(argc, argv, name)) {
                op = &operations[i];
                form = (enum form)f;
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
    types = malloc((size_t)ranks * sizeof *types);
    if (!counts || !starts || !double_counts || !types) {
        fprintf(stderr, "coll: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < ranks; i++)
        types[i] = MPI_BYTE;
    if (strncmp(op->name, "neighbor", 8) == 0)
        MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){1}, 0, &ring);
    double start = seconds();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && tell_all(rank, ranks, seconds() - start < LIMIT); i++) {
        size = op->call == barrier ? 0 : sizes[i];
        measure(is_quick(argc, argv));
        if (op->call == barrier)
            break;
    }
    MPI_Finalize();
    return 0;
}
