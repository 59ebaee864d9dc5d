/* Half round trip of a ping-pong between ranks 0 and 1, 0 bytes to 16 MiB.
 *
 * Default: separate send and receive buffers that are not modified, as in common latency benchmarks.
 * With "fresh" the received data is sent back, so the payload is always modified in the sender's cache
 * and never in the receiver's, as in a program that computes on its data.
 */
#include <mpi.h>

#include "bench.h"

static int rank;
static size_t size;
static char *out, *in;

static double ping_pong(long n)
{
    double start = seconds();
    for (long i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Send(out, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(in, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
    return seconds() - start;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0,       8,        64,       512,      1 << 10,  2 << 10,
                                   4 << 10, 8 << 10,  16 << 10, 32 << 10, 64 << 10, 128 << 10,
                                   256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 16 << 20};
    enum { MAX_REPS = 25 };
    double v[MAX_REPS];
    char label[24], name[64];
    int ranks, quick = is_quick(argc, argv), fresh = has_word(argc, argv, "fresh");
    int reps = quick ? 7 : MAX_REPS;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "latency: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = page_buffer(16 << 20);
    in = fresh ? out : page_buffer(16 << 20);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size = sizes[i];
        long n = calibrate(rank, ping_pong, quick ? 0.002 : 0.006);
        for (int r = 0; r < reps; r++)
            v[r] = ping_pong(n) / (double)n / 2 * 1e6;
        if (rank == 0) {
            snprintf(name, sizeof name, "latency%s/%s", fresh ? "-fresh" : "",
                     size_name(size, label));
            report(name, "us", v, reps);
        }
    }
    MPI_Finalize();
    return 0;
}
