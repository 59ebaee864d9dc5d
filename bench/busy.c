/* busy: two ranks while other programs want their CPUs too (bench/run starts four busy loops). Half a round trip of 8 bytes with
 * blocking calls; the same when both ranks loop over MPI_Test; an allreduce of one int. A row is the mean of all that fitted into
 * half a second: what the ranks lose while they wait for a CPU counts. */
#include <mpi.h>

#include "bench.h"

static int rank, reps = 5;
static double limit = 0.5;

/* Exchanges messages until rank 0 has had enough; each message says whether another one follows. */
static double blocking(void)
{
    long n = 0, go[1] = {1};
    double start = seconds(), now = start;
    while (go[0]) {
        if (rank == 0) {
            go[0] = now - start < limit;
            MPI_Send(go, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(go, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(go, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(go, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
        }
        n++;
        now = seconds();
    }
    return (now - start) / (double)n / 2;
}

static void receive_by_testing(long *go)
{
    MPI_Request request;
    int done = 0;
    MPI_Irecv(go, 1, MPI_LONG, 1 - rank, 2, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static double testing(void)
{
    long n = 0, go[1] = {1};
    double start = seconds(), now = start;
    while (go[0]) {
        if (rank == 0) {
            go[0] = now - start < limit;
            MPI_Send(go, 1, MPI_LONG, 1, 2, MPI_COMM_WORLD);
            receive_by_testing(go);
        } else {
            receive_by_testing(go);
            MPI_Send(go, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD);
        }
        n++;
        now = seconds();
    }
    return (now - start) / (double)n / 2;
}

static double reducing(void)
{
    long n = 0;
    int mine, stop = 0;
    double start = seconds(), now = start;
    while (!stop) {
        mine = rank == 0 && now - start >= limit;
        MPI_Allreduce(&mine, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        n++;
        now = seconds();
    }
    return (now - start) / (double)n;
}

static void measure(const char *name, double (*body)(void))
{
    double v[8];
    body();
    for (int r = 0; r < reps; r++)
        v[r] = body() * 1e6;
    if (rank == 0)
        report(name, "us", v, reps);
}

int main(int argc, char **argv)
{
    const char *sessions = has_word(argc, argv, "autogroup") ? "autogroup/" : "";
    char name[64];
    if (is_quick(argc, argv)) {
        reps = 3;
        limit = 0.2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "busy/%spingpong", sessions);
    measure(name, blocking);
    snprintf(name, sizeof name, "busy/%stest", sessions);
    measure(name, testing);
    snprintf(name, sizeof name, "busy/%sallreduce", sessions);
    measure(name, reducing);
    MPI_Finalize();
    return 0;
}
