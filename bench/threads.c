/* Threads under MPI_THREAD_MULTIPLE: 1 to 8 threads of rank 0, each of which exchanges 8-byte messages with the thread of
 * rank 1 that has its number. The rate of all together, in million messages a second.
 *
 * own-comm: a communicator for each pair of threads; own-tag: one communicator, a tag for each pair; same-tag: one
 * communicator and one tag, so that any thread may get any message.
 */
#include <mpi.h>
#include <pthread.h>

#include "bench.h"

enum { MOST = 8 };
enum kind { OWN_COMM, OWN_TAG, SAME_TAG };
static const char *const kinds[] = {"own-comm", "own-tag", "same-tag"};

static int rank;
static MPI_Comm comms[MOST];

struct work {
    int thread;
    enum kind kind;
    long turns;
};

static void *exchange(void *given)
{
    const struct work *work = given;
    MPI_Comm comm = comms[work->kind == OWN_COMM ? work->thread : 0];
    int tag = work->kind == OWN_TAG ? work->thread : 0;
    double word = 1;
    for (long i = 0; i < work->turns; i++) {
        if (rank == 0) {
            MPI_Send(&word, 8, MPI_BYTE, 1, tag, comm);
            MPI_Recv(&word, 8, MPI_BYTE, 1, tag, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&word, 8, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE);
            MPI_Send(&word, 8, MPI_BYTE, 0, tag, comm);
        }
    }
    return NULL;
}

static int threads;
static enum kind kind;

/* Seconds of so many turns of every thread. */
static double batch(long turns)
{
    pthread_t ids[MOST];
    struct work works[MOST];
    int word = 0;
    MPI_Sendrecv_replace(&word, 1, MPI_INT, !rank, 98, !rank, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double start = seconds();
    for (int t = 0; t < threads; t++) {
        works[t] = (struct work){t, kind, turns};
        if (pthread_create(&ids[t], NULL, exchange, &works[t])) {
            fprintf(stderr, "threads: no more threads\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    for (int t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
    return seconds() - start;
}

int main(int argc, char **argv)
{
    enum { MAX_REPS = 9 };
    double v[MAX_REPS];
    char name[64];
    int ranks, level, quick = is_quick(argc, argv), reps = quick ? 3 : MAX_REPS;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2 || level != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "threads: needs 2 ranks and MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int t = 0; t < MOST; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (threads = 1; threads <= MOST; threads *= 2)
        for (int k = 0; k < (threads == 1 ? 1 : 3); k++) {
            kind = (enum kind)k;
            long n = calibrate(rank, batch, quick ? 0.01 : 0.04);
            for (int r = 0; r < reps; r++)
                v[r] = 2.0 * (double)n * threads / batch(n) * 1e-6;
            if (rank == 0) {
                snprintf(name, sizeof name, "threads/%d%s%s", threads, threads == 1 ? "" : "-", threads == 1 ? "" : kinds[k]);
                report(name, "M/s", v, reps);
            }
        }
    for (int t = 0; t < MOST; t++)
        MPI_Comm_free(&comms[t]);
    MPI_Finalize();
    return 0;
}
