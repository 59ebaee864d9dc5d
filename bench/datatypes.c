/* Non-contiguous data: MPI_Pack, MPI_Unpack and ping-pong of common layouts.
 *
 * Each pack and unpack is reported in microseconds and as two ratios of the same run: to memcpy of
 * the same number of bytes ("/memcpy"), and to a handwritten C loop for the layout ("/loop"). A ratio
 * of 1 means equally fast, 2 twice as slow. The bytes that arrive are compared with those that the
 * loop gathers.
 */
#include <mpi.h>
#include <stdint.h>

#include "bench.h"

struct particle { /* 13 bytes of data in 24 */
    char kind;
    double position;
    int cell;
};

/* One layout: its memory, its MPI type and the loops that gather and scatter it. */
struct layout {
    char name[48];
    MPI_Datatype type;
    char *base;
    size_t span;  /* bytes of memory under `base` */
    size_t bytes; /* bytes of data */
    void (*gather)(const struct layout *, char *);
    void (*scatter)(const struct layout *, const char *);
    size_t blocks, stride, length;     /* strided and face layouts */
    size_t outer, outer_stride;        /* faces */
    int *lengths, *displacements;      /* irregular */
};

static int rank, quick;
static struct layout *current;
static char *packed, *copy;

/* Handwritten loops for the layouts. */
static void gather_doubles(const struct layout *l, char *out)
{
    double *o = (double *)out;
    const char *p = l->base;
    for (size_t i = 0; i < l->blocks; i++)
        o[i] = *(const double *)(p + i * l->stride);
}
static void scatter_doubles(const struct layout *l, const char *in)
{
    const double *o = (const double *)in;
    char *p = l->base;
    for (size_t i = 0; i < l->blocks; i++)
        *(double *)(p + i * l->stride) = o[i];
}
static void gather_irregular(const struct layout *l, char *out)
{
    const double *p = (const double *)l->base;
    double *o = (double *)out;
    for (size_t i = 0; i < l->blocks; i++)
        for (int k = 0; k < l->lengths[i]; k++)
            *o++ = p[l->displacements[i] + k];
}
static void scatter_irregular(const struct layout *l, const char *in)
{
    double *p = (double *)l->base;
    const double *o = (const double *)in;
    for (size_t i = 0; i < l->blocks; i++)
        for (int k = 0; k < l->lengths[i]; k++)
            p[l->displacements[i] + k] = *o++;
}
static void gather_particles(const struct layout *l, char *out)
{
    const struct particle *p = (const struct particle *)l->base;
    for (size_t i = 0; i < l->blocks; i++, out += 13) {
        out[0] = p[i].kind;
        memcpy(out + 1, &p[i].position, 8);
        memcpy(out + 9, &p[i].cell, 4);
    }
}
static void scatter_particles(const struct layout *l, const char *in)
{
    struct particle *p = (struct particle *)l->base;
    for (size_t i = 0; i < l->blocks; i++, in += 13) {
        p[i].kind = in[0];
        memcpy(&p[i].position, in + 1, 8);
        memcpy(&p[i].cell, in + 9, 4);
    }
}
static void gather_face(const struct layout *l, char *out)
{
    if (l->length == sizeof(double)) {
        double *o = (double *)out;
        for (size_t i = 0; i < l->outer; i++)
            for (size_t k = 0; k < l->blocks; k++)
                *o++ = *(const double *)(l->base + i * l->outer_stride + k * l->stride);
        return;
    }
    for (size_t i = 0; i < l->outer; i++) {
        const char *p = l->base + i * l->outer_stride;
        for (size_t k = 0; k < l->blocks; k++, out += l->length)
            memcpy(out, p + k * l->stride, l->length);
    }
}
static void scatter_face(const struct layout *l, const char *in)
{
    if (l->length == sizeof(double)) {
        const double *o = (const double *)in;
        for (size_t i = 0; i < l->outer; i++)
            for (size_t k = 0; k < l->blocks; k++)
                *(double *)(l->base + i * l->outer_stride + k * l->stride) = *o++;
        return;
    }
    for (size_t i = 0; i < l->outer; i++) {
        char *p = l->base + i * l->outer_stride;
        for (size_t k = 0; k < l->blocks; k++, in += l->length)
            memcpy(p + k * l->stride, in, l->length);
    }
}

/* Doubles at a fixed distance: a column of a matrix with rows of 32, or every other double. */
static void make_strided(struct layout *l, const char *name, size_t bytes, size_t stride)
{
    char label[24];
    snprintf(l->name, sizeof l->name, "%s-%s", name, size_name(bytes, label));
    l->blocks = bytes / 8;
    l->stride = stride;
    l->bytes = bytes;
    l->span = l->blocks * stride;
    l->gather = gather_doubles;
    l->scatter = scatter_doubles;
    MPI_Type_vector((int)l->blocks, 1, (int)(stride / 8), MPI_DOUBLE, &l->type);
}

/* Runs of 1 to 8 doubles with gaps of 1 to 8, from a fixed pseudo-random sequence. */
static void make_irregular(struct layout *l, size_t bytes)
{
    char label[24];
    size_t max = bytes / 8, left = bytes / 8, at = 0;
    uint32_t x = 12345;
    snprintf(l->name, sizeof l->name, "irregular-%s", size_name(bytes, label));
    l->lengths = malloc(max * sizeof(int));
    l->displacements = malloc(max * sizeof(int));
    l->blocks = 0;
    while (left > 0) {
        x = x * 1664525u + 1013904223u;
        size_t n = 1 + (x >> 29), gap = 1 + ((x >> 20) & 7);
        if (n > left)
            n = left;
        l->lengths[l->blocks] = (int)n;
        l->displacements[l->blocks++] = (int)at;
        at += n + gap;
        left -= n;
    }
    l->bytes = bytes;
    l->span = at * 8;
    l->gather = gather_irregular;
    l->scatter = scatter_irregular;
    MPI_Type_indexed((int)l->blocks, l->lengths, l->displacements, MPI_DOUBLE, &l->type);
}

static void make_particles(struct layout *l, size_t bytes)
{
    char label[24];
    MPI_Datatype one, sized;
    int lengths[3] = {1, 1, 1};
    MPI_Aint at[3] = {offsetof(struct particle, kind), offsetof(struct particle, position),
                      offsetof(struct particle, cell)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    snprintf(l->name, sizeof l->name, "struct-%s", size_name(bytes, label));
    l->blocks = bytes / 13;
    l->bytes = l->blocks * 13;
    l->span = l->blocks * sizeof(struct particle);
    l->gather = gather_particles;
    l->scatter = scatter_particles;
    MPI_Type_create_struct(3, lengths, at, types, &one);
    MPI_Type_create_resized(one, 0, sizeof(struct particle), &sized);
    MPI_Type_contiguous((int)l->blocks, sized, &l->type);
    MPI_Type_free(&one);
    MPI_Type_free(&sized);
}

/* A face of a cube with n doubles per side, `thick` deep, across dimension 0 (slowest), 1 or 2. */
static void make_face(struct layout *l, int dimension, int n, int thick)
{
    int sizes[3] = {n, n, n}, sub[3] = {n, n, n}, start[3] = {0, 0, 0};
    size_t row = (size_t)n * 8, plane = row * (size_t)n;
    sub[dimension] = thick;
    snprintf(l->name, sizeof l->name, "face%d-%dx%d", dimension, n, thick);
    l->span = plane * (size_t)n;
    l->bytes = row * (size_t)n * (size_t)thick;
    l->gather = gather_face;
    l->scatter = scatter_face;
    l->outer = (size_t)(dimension == 0 ? thick : n);
    l->outer_stride = plane;
    l->blocks = (size_t)(dimension == 1 ? thick : n);
    l->stride = row;
    l->length = dimension == 2 ? (size_t)thick * 8 : row;
    if (dimension < 2) { /* rows lie end to end inside a plane */
        l->length *= l->blocks;
        l->blocks = 1;
    }
    MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &l->type);
}

/* The timed bodies; each takes an iteration count and returns seconds. */
static double run_pack(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        int at = 0;
        MPI_Pack(current->base, 1, current->type, packed, (int)current->bytes + 64, &at,
                 MPI_COMM_WORLD);
    }
    return seconds() - start;
}
static double run_unpack(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        int at = 0;
        MPI_Unpack(packed, (int)current->bytes, &at, current->base, 1, current->type,
                   MPI_COMM_WORLD);
    }
    return seconds() - start;
}
static double run_gather(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++)
        current->gather(current, copy);
    return seconds() - start;
}
static double run_scatter(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++)
        current->scatter(current, copy);
    return seconds() - start;
}
static double run_memcpy(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        memcpy(copy, packed, current->bytes);
        __asm__ volatile("" : : "r"(copy) : "memory");
    }
    return seconds() - start;
}
static double run_ping_pong(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(current->base, 1, current->type, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(current->base, 1, current->type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(current->base, 1, current->type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(current->base, 1, current->type, 0, 1, MPI_COMM_WORLD);
        }
    }
    return seconds() - start;
}

enum { MAX_REPS = 9 };

/* Times a body that needs no partner; fills v with the microseconds of one iteration. */
static int time_alone(double (*body)(long), double *v)
{
    int reps = quick ? 3 : MAX_REPS;
    double target = quick ? 0.003 : 0.01;
    long n = 1;
    body(1);
    for (double t; (t = body(n)) < target / 4;)
        n *= t > 0 && target / t < 8 ? 2 : 8;
    for (int r = 0; r < reps; r++)
        v[r] = body(n) / (double)n * 1e6;
    return reps;
}

/* The smallest of the repetitions, for the ratios. */
static double best_of(double (*body)(long))
{
    double v[MAX_REPS];
    int reps = time_alone(body, v);
    qsort(v, (size_t)reps, sizeof *v, compare_doubles);
    return v[0];
}

static void check(const char *step)
{
    current->gather(current, copy);
    if (memcmp(copy, packed, current->bytes) != 0) {
        fprintf(stderr, "datatypes: %s of %s gave wrong bytes\n", step, current->name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void measure(struct layout *l)
{
    double v[MAX_REPS], least;
    char name[96];
    int reps, at = 0, token = 0;

    MPI_Type_commit(&l->type);
    current = l;
    l->base = page_buffer(l->span);
    for (size_t i = 0; i < l->span; i++)
        l->base[i] = (char)(i * 2654435761u >> 13);
    packed = page_buffer(l->bytes + 64);
    copy = page_buffer(l->bytes + 64);

    if (rank == 0) {
        double flat = best_of(run_memcpy);
        MPI_Pack(l->base, 1, l->type, packed, (int)l->bytes + 64, &at, MPI_COMM_WORLD);
        check("MPI_Pack");

        reps = time_alone(run_pack, v);
        snprintf(name, sizeof name, "pack/%s", l->name);
        report(name, "us", v, reps);
        least = v[0];
        snprintf(name, sizeof name, "pack/%s/memcpy", l->name);
        report_one(name, "x", least / flat);
        snprintf(name, sizeof name, "pack/%s/loop", l->name);
        report_one(name, "x", least / best_of(run_gather));

        for (size_t i = 0; i < l->bytes; i++)
            packed[i] = (char)(i * 40503u >> 7);
        reps = time_alone(run_unpack, v);
        check("MPI_Unpack");
        snprintf(name, sizeof name, "unpack/%s", l->name);
        report(name, "us", v, reps);
        least = v[0];
        snprintf(name, sizeof name, "unpack/%s/memcpy", l->name);
        report_one(name, "x", least / flat);
        memcpy(copy, packed, l->bytes);
        snprintf(name, sizeof name, "unpack/%s/loop", l->name);
        report_one(name, "x", least / best_of(run_scatter));
        MPI_Send(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    long n = calibrate(rank, run_ping_pong, quick ? 0.005 : 0.02);
    reps = quick ? 3 : MAX_REPS;
    for (int r = 0; r < reps; r++)
        v[r] = run_ping_pong(n) / (double)n / 2 * 1e6;
    if (rank == 0) {
        check("ping-pong");
        snprintf(name, sizeof name, "pingpong/%s", l->name);
        report(name, "us", v, reps);
    }
    MPI_Type_free(&l->type);
    free(l->base);
    free(packed);
    free(copy);
    free(l->lengths);
    free(l->displacements);
    memset(l, 0, sizeof *l);
}

/* Cost of the types themselves: a commit with a million irregular blocks, and many small ones. */
static void measure_commits(void)
{
    enum { BLOCKS = 1000000 };
    int small = quick ? 100000 : 1000000;
    struct layout l = {0};
    int *at = malloc(BLOCKS * sizeof(int)), *len = malloc(BLOCKS * sizeof(int));
    uint32_t x = 99;
    double start;
    for (int i = 0, p = 0; i < BLOCKS; i++) {
        x = x * 1664525u + 1013904223u;
        len[i] = 1 + (int)(x >> 30);
        at[i] = p;
        p += len[i] + 1 + (int)((x >> 20) & 15);
    }
    start = seconds();
    MPI_Type_indexed(BLOCKS, len, at, MPI_DOUBLE, &l.type);
    MPI_Type_commit(&l.type);
    report_one("commit/million-blocks", "s", seconds() - start);
    MPI_Type_free(&l.type);

    start = seconds();
    for (int i = 0; i < small; i++) {
        MPI_Type_vector(16, 1, 4, MPI_DOUBLE, &l.type);
        MPI_Type_commit(&l.type);
        MPI_Type_free(&l.type);
    }
    report_one("commit/small", "ns", (seconds() - start) / small * 1e9);
    free(at);
    free(len);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {64 << 10, 1 << 20, 4 << 20};
    struct layout l = {0};
    int ranks;
    quick = is_quick(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "datatypes: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int s = 0; s < 3; s++) {
        make_strided(&l, "column", sizes[s], 256);
        measure(&l);
        make_strided(&l, "stride16", sizes[s], 16);
        measure(&l);
        make_irregular(&l, sizes[s]);
        measure(&l);
        make_particles(&l, sizes[s]);
        measure(&l);
        for (int d = 0; d < 3; d++) { /* about 72 KiB, 512 KiB, 2 MiB */
            make_face(&l, d, s == 0 ? 96 : 256, s == 2 ? 4 : 1);
            measure(&l);
        }
    }
    if (rank == 0)
        measure_commits();
    MPI_Finalize();
    return 0;
}
