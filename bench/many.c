/* Many senders and one receiver: every rank but 0 sends bursts of 32 messages of 8 bytes to rank 0, which receives all of
 * them with MPI_ANY_SOURCE and then answers each sender.
 *
 * blocking: MPI_Recv; posted: MPI_Irecv of a whole burst of all senders, then MPI_Waitall.
 */
#include <mpi.h>

#include "bench.h"

enum { BURST = 32 };

static int rank, ranks;
static double *words;
static MPI_Request *requests;

/* Seconds for n bursts, at rank 0. */
static double bursts(long n, int posted)
{
    int go = 0, all = BURST * (ranks - 1);
    double start = seconds();
    for (long i = 0; i < n; i++) {
        if (rank) {
            for (int m = 0; m < BURST; m++)
                MPI_Send(&words[m], 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        for (int m = 0; m < all; m++) {
            if (posted)
                MPI_Irecv(&words[m], 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[m]);
            else
                MPI_Recv(&words[m], 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (posted)
            MPI_Waitall(all, requests, MPI_STATUSES_IGNORE);
        for (int to = 1; to < ranks; to++)
            MPI_Send(&go, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    }
    return seconds() - start;
}

static void measure(int posted, int quick)
{
    enum { MAX_REPS = 15 };
    double v[MAX_REPS];
    char name[64];
    int reps = quick ? 5 : MAX_REPS;
    long n = 1;
    for (;;) {
        double spent = bursts(n, posted);
        long next = tell_all(rank, ranks, spent < (quick ? 0.005 : 0.02) && n < 1L << 20 ? 2 * n : n);
        if (next == n)
            break;
        n = next;
    }
    for (int r = 0; r < reps; r++)
        v[r] = (double)n * BURST * (ranks - 1) / bursts(n, posted) * 1e-6;
    if (rank == 0) {
        snprintf(name, sizeof name, "many-to-one-%d/%s", ranks, posted ? "posted" : "blocking");
        report(name, "M/s", v, reps);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) {
        fprintf(stderr, "many: needs 2 ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    words = (double *)page_buffer(sizeof *words * BURST * (size_t)ranks);
    requests = (MPI_Request *)page_buffer(sizeof *requests * BURST * (size_t)ranks);
    for (int posted = 0; posted < 2; posted++)
        measure(posted, is_quick(argc, argv));
    MPI_Finalize();
    return 0;
}
