/* Communicators made and freed, with more ranks than cores (bench/run gives it two cores).
 *
 * dup: MPI_Comm_dup and MPI_Comm_free. split: MPI_Comm_split into two halves, in reverse order, and
 * MPI_Comm_free.
 *
 * One may take a microsecond or a millisecond here, so rank 0 finds a count that takes some tenths of
 * a second and sends it to the others.
 */
#include <mpi.h>

#include "bench.h"

static int rank, ranks;

static double dup_batch(long n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = seconds();
    for (long i = 0; i < n; i++) {
        MPI_Comm made;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        MPI_Comm_free(&made);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds() - start;
}

static double split_batch(long n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = seconds();
    for (long i = 0; i < n; i++) {
        MPI_Comm made;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
        MPI_Comm_free(&made);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds() - start;
}

static void measure(const char *what, double (*batch)(long), double target)
{
    enum { REPS = 5 };
    double v[REPS], took = 0;
    char name[64];
    long n = 1, last = 0;
    while (n != last) {
        last = n;
        took = batch(n);
        n = tell_all(rank, ranks, took < target / 2 && n < (1L << 20) ? n * 2 : n);
    }
    for (int r = 0; r < REPS; r++)
        v[r] = batch(n) / (double)n * 1e6;
    if (rank == 0) {
        snprintf(name, sizeof name, "comm/%s-%d", what, ranks);
        report(name, "us", v, REPS);
    }
}

int main(int argc, char **argv)
{
    double target = is_quick(argc, argv) ? 0.05 : 0.3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    measure("dup", dup_batch, target);
    measure("split", split_batch, target);
    MPI_Finalize();
    return 0;
}
