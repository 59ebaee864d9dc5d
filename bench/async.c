/* What asynchronous progress gains and costs: one run with it and one without it (OXMPI_ASYNC_PROGRESS, and the variables of
 * MPICH and Intel MPI).
 *
 * A long operation is started, the ranks compute for about four times as long as it takes alone without a call, and then wait.
 * `alone`: the operation without a computation (t). `beside`: what it adds to the computation (both - c), which counts the
 * slowdown of the computation. `overlap`: (t + c - both) / t, at least 0 and at most 100 %. `pingpong`: half a round trip of 8 bytes.
 *
 * usage: async LABEL [--quick]
 */
#include <mpi.h>

#include "bench.h"

static int rank;
static char *out, *in;

enum what { MESSAGE, ALLREDUCE, ALLTOALL, KINDS };
static const char *const names[] = {"isend-irecv", "iallreduce", "ialltoall"};

static void begin(enum what what, size_t size, MPI_Request request[2])
{
    request[0] = request[1] = MPI_REQUEST_NULL;
    switch (what) {
    case MESSAGE:
        MPI_Irecv(in, (int)size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out, (int)size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &request[1]);
        break;
    case ALLREDUCE:
        MPI_Iallreduce(out, in, (int)(size / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[0]);
        break;
    default:
        MPI_Ialltoall(out, (int)size / 2, MPI_BYTE, in, (int)size / 2, MPI_BYTE, MPI_COMM_WORLD, &request[0]);
    }
}

/* The later of both ranks' times, at both. */
static double later(double mine)
{
    double other = 0;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, !rank, 97, &other, 1, MPI_DOUBLE, !rank, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return mine > other ? mine : other;
}

static void meet(void)
{
    int word = 0;
    MPI_Sendrecv_replace(&word, 1, MPI_INT, !rank, 98, !rank, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Seconds of an operation with so many steps of computation inside; KINDS: of the computation alone. */
static double once(enum what what, size_t size, long steps)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    meet();
    double start = seconds();
    if (what != KINDS)
        begin(what, size, request);
    compute(steps);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    return later(seconds() - start);
}

static double ping_pong(long n)
{
    char word[8] = {0};
    double start = seconds();
    for (long i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(word, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(word, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(word, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(word, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    return seconds() - start;
}

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {256 << 10, 1 << 20, 4 << 20};
    enum { MAX_REPS = 31 };
    double alone[MAX_REPS], computed[MAX_REPS], both[MAX_REPS], v[MAX_REPS];
    char label[24], name[96];
    int ranks, quick = is_quick(argc, argv), reps = quick ? 9 : MAX_REPS;
    const char *run = argc > 1 && argv[1][0] != '-' ? argv[1] : "as-it-is";
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "async: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = page_buffer(4 << 20);
    in = page_buffer(4 << 20);
    memset(out, 0, 4 << 20); /* sums stay 0 */

    long n = calibrate(rank, ping_pong, quick ? 0.002 : 0.006);
    for (int r = 0; r < reps; r++)
        v[r] = ping_pong(n) / (double)n / 2 * 1e6;
    if (rank == 0) {
        snprintf(name, sizeof name, "async/%s/pingpong/8", run);
        report(name, "us", v, reps);
    }

    long million = 1000000;
    double start = seconds();
    compute(million);
    double step = later(seconds() - start) / (double)million;
    for (int what = 0; what < KINDS; what++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (int r = 0; r < 5; r++)
                once((enum what)what, sizes[s], 0);
            for (int r = 0; r < reps; r++)
                alone[r] = once((enum what)what, sizes[s], 0);
            qsort(alone, (size_t)reps, sizeof *alone, by_value);
            double t = alone[reps / 2];
            long steps = (long)(4 * t / step);
            /* In turn, so that other load of the machine concerns both. */
            for (int r = 0; r < reps; r++) {
                computed[r] = once(KINDS, 0, steps);
                both[r] = once((enum what)what, sizes[s], steps);
            }
            qsort(computed, (size_t)reps, sizeof *computed, by_value);
            double c = computed[reps / 2];
            if (rank != 0)
                continue;
            size_name(sizes[s], label);
            for (int r = 0; r < reps; r++)
                v[r] = alone[r] * 1e6;
            snprintf(name, sizeof name, "async/%s/%s/%s/alone", run, names[what], label);
            report(name, "us", v, reps);
            for (int r = 0; r < reps; r++)
                v[r] = (both[r] - c) * 1e6;
            snprintf(name, sizeof name, "async/%s/%s/%s/beside", run, names[what], label);
            report(name, "us", v, reps);
            for (int r = 0; r < reps; r++) {
                double share = (t + c - both[r]) / t * 100;
                v[r] = share < 0 ? 0 : share > 100 ? 100 : share;
            }
            snprintf(name, sizeof name, "async/%s/%s/%s/overlap", run, names[what], label);
            report(name, "%", v, reps);
        }
    MPI_Finalize();
    return 0;
}
