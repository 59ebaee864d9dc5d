/* Cost of receiving messages that arrived before their receives, in reverse tag order.
 *
 * Rank 1 sends `count` 8-byte messages with tags 0..count-1 and then a last one. Rank 0 receives the
 * last one first (by then all others are in its unexpected queue), and then the others from the
 * highest tag down. In a matching engine that searches a list, the cost grows with `count`.
 */
#include <mpi.h>

#include "bench.h"

static int rank;

/* Seconds that rank 0 spends in the receives of `n` floods of `count` messages. */
static double floods(int count, long n)
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
            MPI_Recv(&data, 8, MPI_BYTE, 1, last, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            double start = seconds();
            for (int t = count - 1; t >= 0; t--) {
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
    static const int counts[] = {100, 1000, 10000};
    enum { MAX_REPS = 11 };
    double v[MAX_REPS], best[3];
    char name[64];
    int ranks, quick = is_quick(argc, argv), reps = quick ? 3 : MAX_REPS;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "unexpected: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int c = 0; c < 3; c++) {
        long n = counts[c] >= 10000 ? 1 : 10000 / counts[c];
        floods(counts[c], 1);
        for (int r = 0; r < reps; r++)
            v[r] = floods(counts[c], n) / (double)n / counts[c] * 1e9;
        if (rank == 0) {
            snprintf(name, sizeof name, "unexpected/%d", counts[c]);
            report(name, "ns", v, reps);
            best[c] = v[0];
        }
    }
    if (rank == 0)
        report_one("unexpected/10000-to-100", "x", best[2] / best[0]);
    MPI_Finalize();
    return 0;
}
