/* One-sided communication. The first argument selects the measurement:
 *
 *   ops      an operation and a flush under lock_all, on memory of MPI_Win_allocate and of
 *            MPI_Win_create; the target waits in a receive
 *   sync     fence, post-start-complete-wait, lock and unlock, each alone and around a put of 8 bytes
 *   busy     an operation and a flush while the target computes and makes no MPI call: a library that
 *            needs the target's help waits for the end of the computation, a tenth of a second
 *   counter  all ranks increment one counter with MPI_Fetch_and_op; total rate of increments
 */
#include <mpi.h>
#include <stdint.h>

#include "bench.h"

enum { LARGEST = 4 << 20 };

static int rank, ranks;
static size_t bytes;
static char *memory, *origin, *result;
static MPI_Win win;

static struct {
    const char *name;
    MPI_Datatype type;
    MPI_Op op;
    int form; /* 0 put, 1 get, 2 accumulate, 3 get_accumulate, 4 fetch_and_op, 5 compare_and_swap */
    int count, unit;
} what;

static inline void operate(void)
{
    switch (what.form) {
    case 0: MPI_Put(origin, what.count, what.type, 1, 0, what.count, what.type, win); break;
    case 1: MPI_Get(result, what.count, what.type, 1, 0, what.count, what.type, win); break;
    case 2: MPI_Accumulate(origin, what.count, what.type, 1, 0, what.count, what.type, what.op, win); break;
    case 3:
        MPI_Get_accumulate(origin, what.count, what.type, result, what.count, what.type, 1, 0, what.count, what.type,
                           what.op, win);
        break;
    case 4: MPI_Fetch_and_op(origin, result, what.type, 1, 0, what.op, win); break;
    default: MPI_Compare_and_swap(origin, origin + 8, result, what.type, 1, 0, win); break;
    }
}

/* The target waits for a message during the measurement. */
static double under_lock(long n)
{
    char end = 0;
    double t = 0;
    if (rank == 0) {
        double start = seconds();
        for (long i = 0; i < n; i++) {
            operate();
            MPI_Win_flush(1, win);
        }
        t = seconds() - start;
        MPI_Send(&end, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&end, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return t;
}

static void make_window(int created)
{
    if (created) {
        memory = page_buffer(LARGEST);
        MPI_Win_create(memory, LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
        MPI_Win_allocate(LARGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    }
    memset(memory, 0, LARGEST);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void free_window(int created)
{
    MPI_Win_free(&win);
    if (created)
        free(memory);
}

static void choose(const char *name, int form, MPI_Datatype type, int unit, MPI_Op op)
{
    what.name = name, what.form = form, what.type = type, what.unit = unit, what.op = op;
}

static int choose_nth(int n)
{
    switch (n) {
    case 0: choose("put", 0, MPI_BYTE, 1, MPI_OP_NULL); break;
    case 1: choose("get", 1, MPI_BYTE, 1, MPI_OP_NULL); break;
    case 2: choose("acc-sum-int32", 2, MPI_INT32_T, 4, MPI_SUM); break;
    case 3: choose("acc-sum-int64", 2, MPI_INT64_T, 8, MPI_SUM); break;
    case 4: choose("acc-sum-double", 2, MPI_DOUBLE, 8, MPI_SUM); break;
    case 5: choose("acc-replace-int64", 2, MPI_INT64_T, 8, MPI_REPLACE); break;
    case 6: choose("getacc-sum-int64", 3, MPI_INT64_T, 8, MPI_SUM); break;
    case 7: choose("fetch-sum-int64", 4, MPI_INT64_T, 8, MPI_SUM); break;
    case 8: choose("cas-int64", 5, MPI_INT64_T, 8, MPI_OP_NULL); break;
    default: return 0;
    }
    return 1;
}

enum { MAX_REPS = 15 };

static void operations(int quick)
{
    static const size_t sizes[] = {8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20};
    double v[MAX_REPS];
    char label[24], name[96];
    int reps = quick ? 5 : MAX_REPS;
    for (int created = 0; created < 2; created++) {
        make_window(created);
        MPI_Win_lock_all(0, win);
        for (int n = 0; choose_nth(n); n++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes && (i == 0 || what.form < 4); i++) {
                bytes = sizes[i];
                what.count = (int)(bytes / (size_t)what.unit);
                long count = calibrate(rank, under_lock, quick ? 0.002 : 0.005);
                for (int r = 0; r < reps; r++)
                    v[r] = under_lock(count) / (double)count * 1e6;
                if (rank == 0) {
                    snprintf(name, sizeof name, "rma-%s-%s/%s", what.name, created ? "created" : "allocated",
                             size_name(bytes, label));
                    report(name, "us", v, reps);
                }
            }
        MPI_Win_unlock_all(win);
        free_window(created);
    }
}

static int with_put;
static MPI_Group other;

static inline void maybe_put(void)
{
    if (with_put)
        MPI_Put(origin, 8, MPI_BYTE, 1 - rank, 0, 8, MPI_BYTE, win);
}

static double fences(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        maybe_put();
        MPI_Win_fence(0, win);
    }
    return seconds() - start;
}

static double posts(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        MPI_Win_post(other, 0, win);
        MPI_Win_start(other, 0, win);
        maybe_put();
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
    return seconds() - start;
}

static double locks(long n, int type)
{
    char end = 0;
    double t = 0;
    if (rank == 0) {
        double start = seconds();
        for (long i = 0; i < n; i++) {
            MPI_Win_lock(type, 1, 0, win);
            maybe_put();
            MPI_Win_unlock(1, win);
        }
        t = seconds() - start;
        MPI_Send(&end, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&end, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return t;
}

static double exclusive_locks(long n) { return locks(n, MPI_LOCK_EXCLUSIVE); }
static double shared_locks(long n) { return locks(n, MPI_LOCK_SHARED); }

static void synchronisation(int quick)
{
    static const struct {
        const char *name;
        double (*batch)(long);
    } kinds[] = {{"fence", fences}, {"post-start", posts}, {"lock-exclusive", exclusive_locks}, {"lock-shared", shared_locks}};
    double v[MAX_REPS];
    char name[96];
    int reps = quick ? 5 : MAX_REPS, peer = 1 - rank;
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &peer, &other);
    for (int created = 0; created < 2; created++) {
        make_window(created);
        for (int k = 0; k < 4; k++)
            for (with_put = 0; with_put < 2; with_put++) {
                if (kinds[k].batch == fences)
                    MPI_Win_fence(0, win);
                long n = calibrate(rank, kinds[k].batch, quick ? 0.002 : 0.005);
                for (int r = 0; r < reps; r++)
                    v[r] = kinds[k].batch(n) / (double)n * 1e6;
                if (kinds[k].batch == fences)
                    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
                if (rank == 0) {
                    snprintf(name, sizeof name, "rma-%s%s/%s", kinds[k].name, with_put ? "-put" : "",
                             created ? "created" : "allocated");
                    report(name, "us", v, reps);
                }
            }
        free_window(created);
    }
    MPI_Group_free(&other);
    MPI_Group_free(&world);
}

static void busy(int quick)
{
    double v[MAX_REPS];
    char name[96];
    int reps = quick ? 3 : 5;
    for (int created = 0; created < 2; created++) {
        make_window(created);
        MPI_Win_lock_all(0, win);
        for (int n = 0; choose_nth(n); n++) {
            if (n != 0 && n != 1 && n != 3 && n != 7)
                continue;
            what.count = 8 / what.unit;
            for (int r = 0; r < reps; r++) {
                MPI_Barrier(MPI_COMM_WORLD);
                double start = seconds(), until = start + 0.1;
                if (rank == 1) {
                    volatile double x = 1;
                    while (seconds() < until)
                        for (int i = 0; i < 1000; i++)
                            x = x * 1.0000001;
                } else {
                    while (seconds() < start + 0.001)
                        ;
                    start = seconds();
                    for (int i = 0; i < 10; i++) {
                        operate();
                        MPI_Win_flush(1, win);
                    }
                    v[r] = (seconds() - start) / 10 * 1e6;
                }
            }
            if (rank == 0) {
                snprintf(name, sizeof name, "rma-busy-%s/%s", what.name, created ? "created" : "allocated");
                report(name, "us", v, reps);
            }
        }
        MPI_Win_unlock_all(win);
        free_window(created);
    }
}

static void counter(int quick)
{
    double v[MAX_REPS];
    char name[96];
    const int64_t one = 1;
    const double length = quick ? 0.05 : 0.2;
    const int reps = 3;
    for (int created = 0; created < 2; created++) {
        make_window(created);
        MPI_Win_lock_all(0, win);
        for (int r = 0; r < reps; r++) {
            MPI_Barrier(MPI_COMM_WORLD);
            long done = 0;
            const double start = seconds();
            double end;
            do {
                for (int i = 0; i < 20; i++) {
                    int64_t old;
                    MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 0, MPI_SUM, win);
                    MPI_Win_flush(0, win);
                }
                done += 20;
                end = seconds();
            } while (end < start + length);
            double rate = (double)done / (end - start) * 1e-6;
            if (rank == 0)
                for (int from = 1; from < ranks; from++) {
                    double theirs;
                    MPI_Recv(&theirs, 1, MPI_DOUBLE, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    rate += theirs;
                }
            else
                MPI_Send(&rate, 1, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD);
            v[r] = rate;
        }
        MPI_Win_unlock_all(win);
        if (rank == 0) {
            snprintf(name, sizeof name, "rma-counter-%s/n%d", created ? "created" : "allocated", ranks);
            report(name, "M/s", v, reps);
        }
        free_window(created);
    }
}

int main(int argc, char **argv)
{
    int quick = is_quick(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    origin = page_buffer(LARGEST);
    result = page_buffer(LARGEST);
    memset(origin, 0, LARGEST);
    if (has_word(argc, argv, "counter"))
        counter(quick);
    else if (ranks != 2) {
        fprintf(stderr, "rma: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    } else if (has_word(argc, argv, "sync"))
        synchronisation(quick);
    else if (has_word(argc, argv, "busy"))
        busy(quick);
    else
        operations(quick);
    MPI_Finalize();
    return 0;
}
