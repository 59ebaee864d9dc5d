/* Messages of rank 0 to itself: MPI_Irecv, MPI_Send, MPI_Wait, and MPI_Sendrecv. Rank 1 waits. */
#include <mpi.h>

#include "bench.h"

static int rank;
static size_t size;
static char *from, *to;

static void posted(void)
{
    MPI_Request request;
    MPI_Irecv(to, (int)size, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request);
    MPI_Send(from, (int)size, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchanged(void)
{
    MPI_Sendrecv(from, (int)size, MPI_BYTE, rank, 1, to, (int)size, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double batch(void (*call)(void), long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++)
        call();
    return seconds() - start;
}

static void measure(const char *kind, void (*call)(void), int quick)
{
    enum { MAX_REPS = 15 };
    double v[MAX_REPS], target = quick ? 0.003 : 0.01;
    char label[24], name[64];
    int reps = quick ? 5 : MAX_REPS;
    long n = 1;
    while (batch(call, n) < target / 2)
        n *= 2;
    for (int r = 0; r < reps; r++)
        v[r] = batch(call, n) / (double)n * 1e6;
    snprintf(name, sizeof name, "self/%s/%s", kind, size_name(size, label));
    report(name, "us", v, reps);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    int word = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    from = page_buffer(4 << 20);
    to = page_buffer(4 << 20);
    if (rank == 0) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size = sizes[i];
            measure("posted", posted, is_quick(argc, argv));
            measure("sendrecv", exchanged, is_quick(argc, argv));
        }
        MPI_Send(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1)
        MPI_Recv(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
