/* Cost of receiving messages that arrived before their receives.
 *
 * Rank 1 sends `count` 8-byte messages with tags 0..count-1 and then a last one. Rank 0 receives the
 * last one first (by then all others are in its unexpected queue), and then the others from the
 * highest tag down. In a matching engine that searches a list, the cost grows with `count`.
 *
 * in-order: they are received as they were sent, and the time includes that of the last one, which all
 * others are stored for.
 */
#include <mpi.h>

#include "bench.h"

static int rank;

/* Seconds that rank 0 spends in the receives of `n` floods of `count` messages. */
static double floods(int count, int in_order, long n)
{
    const int last = 1 << 20;
    double total = 0, data = 0;
    for (long i = 0; i < n; i++) {
        if (rank == 1) {
            for (int t = 0; t < count; t++) {
                data = t;
                MPI_Send(&data, 8, MPI_BYTE, 0, t, MPI_COMM_WORLD);
            }
            MPI_Send(&data, 8, MPI_BYTE, 0, last, MPI_COMM_WORLD);
            MPI_Recv(&data, 8, MPI_BYTE, 0, last, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            /* All have arrived before the clock starts. */
            for (double begin = seconds(); seconds() - begin < 2e-6 + 0.2e-6 * count;) {
            }
            double start = seconds();
            MPI_Recv(&data, 8, MPI_BYTE, 1, last, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (!in_order)
                start = seconds();
            for (int i = 0; i < count; i++) {
                int t = in_order ? i : count - 1 - i;
                MPI_Recv(&data, 8, MPI_BYTE, 1, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (data != t) {
                    fprintf(stderr, "unexpected: tag %d brought %g\n", t, data);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
            }
            total += seconds() - start;
            MPI_Send(&data, 8, MPI_BYTE, 1, last, MPI_COMM_WORLD);
        }
    }
    return total;
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 10, 100, 1000, 10000};
    enum { MAX_REPS = 11, COUNTS = sizeof counts / sizeof *counts };
    double v[MAX_REPS], best[COUNTS];
    char name[64];
    int ranks, quick = is_quick(argc, argv), reps = quick ? 3 : MAX_REPS;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "unexpected: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int in_order = 0; in_order < 2; in_order++)
        for (int c = 0; c < COUNTS; c++) {
            long n = counts[c] >= 10000 ? 1 : 10000 / counts[c];
            floods(counts[c], in_order, 1);
            for (int r = 0; r < reps; r++)
                v[r] = floods(counts[c], in_order, n) / (double)n / counts[c] * 1e9;
            if (rank == 0) {
                snprintf(name, sizeof name, "unexpected/%s%d", in_order ? "in-order-" : "", counts[c]);
                report(name, "ns", v, reps);
                if (!in_order)
                    best[c] = v[0];
            }
        }
    if (rank == 0)
        report_one("unexpected/10000-to-100", "x", best[4] / best[2]);
    MPI_Finalize();
    return 0;
}
