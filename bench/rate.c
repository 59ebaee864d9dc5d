/* Rate of 8-byte messages from rank 0 to rank 1.
 *
 * window: 64 MPI_Isend against 64 MPI_Irecv, then a 4-byte answer.
 * stream: MPI_Send against MPI_Recv, without an answer inside a batch of 1024.
 * any-source: the same, received with MPI_ANY_SOURCE.
 */
#include <mpi.h>

#include "bench.h"

enum { WINDOW = 64, STREAM = 1024 };

static int rank;

static void answer(void)
{
    int a = 0;
    if (rank == 0)
        MPI_Recv(&a, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&a, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
}

static double windows(long n)
{
    static double data[WINDOW];
    MPI_Request req[WINDOW];
    double start = seconds();
    for (long i = 0; i < n; i++) {
        for (int w = 0; w < WINDOW; w++) {
            if (rank == 0)
                MPI_Isend(&data[w], 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[w]);
            else
                MPI_Irecv(&data[w], 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[w]);
        }
        MPI_Waitall(WINDOW, req, MPI_STATUSES_IGNORE);
        answer();
    }
    return seconds() - start;
}

static double stream(long n, int source)
{
    double data = 1;
    double start = seconds();
    for (long i = 0; i < n; i++) {
        for (int w = 0; w < STREAM; w++) {
            if (rank == 0)
                MPI_Send(&data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            else
                MPI_Recv(&data, 8, MPI_BYTE, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        answer();
    }
    return seconds() - start;
}

static double streams(long n)
{
    return stream(n, 0);
}

static double from_any(long n)
{
    return stream(n, MPI_ANY_SOURCE);
}

static void measure(const char *name, double (*batch)(long), int per_round, int quick)
{
    enum { MAX_REPS = 25 };
    double v[MAX_REPS];
    int reps = quick ? 7 : MAX_REPS;
    long n = calibrate(rank, batch, quick ? 0.005 : 0.02);
    for (int r = 0; r < reps; r++)
        v[r] = (double)n * per_round / batch(n) * 1e-6;
    if (rank == 0)
        report(name, "M/s", v, reps);
}

int main(int argc, char **argv)
{
    int ranks, quick = is_quick(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "rate: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    measure("rate/8-window", windows, WINDOW, quick);
    measure("rate/8-stream", streams, STREAM, quick);
    measure("rate/8-any-source", from_any, STREAM, quick);
    MPI_Finalize();
    return 0;
}
