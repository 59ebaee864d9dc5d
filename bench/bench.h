/* The common part of the benchmark programs: a clock, statistics and the output format that bench/run
 * reads.
 *
 * A result is one line on stdout:
 *
 *     RESULT <name> <unit> <best> <median>
 *
 * `best` and `median` are over the repetitions inside this run. For the units "MB/s", "M/s", "GB/s" and
 * "%" larger is better, for all others smaller.
 *
 * The programs use blocking point-to-point calls to agree on iteration counts, never a
 * collective (except where a barrier is measured), so that they run on a library that has only
 * chapter 4 of the standard.
 */
#ifndef OXMPI_BENCH_H
#define OXMPI_BENCH_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A computation of so many steps, which no compiler leaves out. */
static inline void compute(long steps)
{
    double x = 1;
    for (long i = 0; i < steps; i++)
        x = x * 1.0000001 + 1e-9;
    __asm__ volatile("" : "+x"(x));
}

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `v` and prints its result line. */
static inline void report(const char *name, const char *unit, double *v, int n)
{
    int larger_is_better = strcmp(unit, "MB/s") == 0 || strcmp(unit, "M/s") == 0 ||
                           strcmp(unit, "GB/s") == 0 || strcmp(unit, "%") == 0;
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    printf("RESULT %s %s %.6g %.6g\n", name, unit, larger_is_better ? v[n - 1] : v[0], v[n / 2]);
    fflush(stdout);
}

static inline void report_one(const char *name, const char *unit, double value)
{
    report(name, unit, &value, 1);
}

/* "64K", "1M": short names for sizes, so that tables stay narrow. */
static inline const char *size_name(size_t n, char out[24])
{
    if (n >= 1024 * 1024 && n % (1024 * 1024) == 0)
        snprintf(out, 24, "%zuM", n / (1024 * 1024));
    else if (n >= 1024 && n % 1024 == 0)
        snprintf(out, 24, "%zuK", n / 1024);
    else
        snprintf(out, 24, "%zu", n);
    return out;
}

static inline char *page_buffer(size_t n)
{
    size_t page = 4096, rounded = (n + page - 1) / page * page;
    char *p = aligned_alloc(page, rounded ? rounded : page);
    if (!p) {
        fprintf(stderr, "bench: cannot allocate %zu bytes\n", n);
        exit(3);
    }
    memset(p, 1, rounded ? rounded : page);
    return p;
}

/* --quick shortens every program: fewer repetitions, shorter batches, same cases. */
static inline int is_quick(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            return 1;
    return 0;
}

static inline int has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return 1;
    return 0;
}

#ifdef MPI_VERSION
/* All ranks get rank 0's number. */
static inline long tell_all(int rank, int ranks, long n)
{
    for (int i = 1; rank == 0 && i < ranks; i++)
        MPI_Send(&n, 1, MPI_LONG, i, 99, MPI_COMM_WORLD);
    if (rank)
        MPI_Recv(&n, 1, MPI_LONG, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return n;
}

/* The same for two ranks: the number of the next iterations. */
static inline long agree(int rank, long n)
{
    return tell_all(rank, 2, n);
}

/* Rank 0 gets the largest value of all ranks; the result is valid on rank 0 only. */
static inline double largest(int rank, int ranks, double mine)
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

/* Finds an n for which `batch(n)` (which runs on both ranks and returns the seconds of n iterations)
 * takes about `target` seconds. */
static inline long calibrate(int rank, double (*batch)(long), double target)
{
    long n = 1;
    for (;;) {
        n = agree(rank, n);
        double t = batch(n);
        long next = n;
        if (t < target / 4 && n < (1L << 24)) {
            double grow = t > 0 ? target / t : 16;
            next = (long)((double)n * (grow > 16 ? 16 : grow < 2 ? 2 : grow));
        }
        next = agree(rank, next);
        if (next == n)
            return n;
        n = next;
    }
}
#endif

#endif
