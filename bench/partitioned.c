/* Partitioned communication from rank 0 to rank 1: MPI_Start, MPI_Pready of all partitions, MPI_Wait, and an answer of 4
 * bytes; beside it the same bytes in a persistent message (`persistent`). Half of a round would be the answer alone, so the
 * whole round is told.
 */
#include <mpi.h>

#include "bench.h"

static int rank, partitions;
static MPI_Request request;

static double rounds(long n)
{
    int answer = 0;
    double start = seconds();
    for (long i = 0; i < n; i++) {
        MPI_Start(&request);
        for (int p = 0; rank == 0 && p < partitions; p++)
            MPI_Pready(p, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Recv(&answer, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    return seconds() - start;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1 << 10, 64 << 10, 1 << 20};
    static const int counts[] = {0, 1, 4, 16}; /* 0: a persistent message */
    enum { MAX_REPS = 9 };
    double v[MAX_REPS];
    char label[24], name[64], *buffer;
    int ranks, quick = is_quick(argc, argv), reps = quick ? 3 : MAX_REPS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "partitioned: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    buffer = page_buffer(1 << 20);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            int size = (int)sizes[s];
            partitions = counts[c];
            if (partitions == 0 && rank == 0)
                MPI_Send_init(buffer, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
            else if (partitions == 0)
                MPI_Recv_init(buffer, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
            else if (rank == 0)
                MPI_Psend_init(buffer, partitions, size / partitions, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            else
                MPI_Precv_init(buffer, partitions, size / partitions, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            long n = calibrate(rank, rounds, quick ? 0.005 : 0.02);
            for (int r = 0; r < reps; r++)
                v[r] = rounds(n) / (double)n * 1e6;
            MPI_Request_free(&request);
            if (rank == 0) {
                int head = snprintf(name, sizeof name, "partitioned/%s/", size_name(sizes[s], label));
                if (partitions)
                    snprintf(name + head, sizeof name - (size_t)head, "%d", partitions);
                else
                    snprintf(name + head, sizeof name - (size_t)head, "persistent");
                report(name, "us", v, reps);
            }
        }
    MPI_Finalize();
    return 0;
}
