/* Bandwidth with a window of nonblocking messages: one way, 64 KiB to 16 MiB; and both ways at the same time (bandwidth-both), 16
 * KiB to 4 MiB, where the bytes of both directions count.
 *
 * The sender starts a window of MPI_Isend and the receiver one of MPI_Irecv. Both wait for all of
 * them, and a 4-byte answer ends the round. A window is 64 messages, or fewer if they would have
 * more than 64 MiB: receives in flight must not share memory, so each has its own buffer.
 */
#include <mpi.h>

#include "bench.h"

enum { WINDOW = 64 };
static const size_t pool = 64u << 20;

static int rank, window;
static size_t size;
static char *buffer;

/* Both ranks start their receives, then their sends, and wait for all. */
static double rounds_both(long n)
{
    MPI_Request req[2 * WINDOW];
    double start = seconds();
    for (long i = 0; i < n; i++) {
        for (int w = 0; w < window; w++)
            MPI_Irecv(buffer + (size_t)w * size, (int)size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &req[w]);
        for (int w = 0; w < window; w++)
            MPI_Isend(buffer + pool / 2 + (size_t)w * size, (int)size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &req[window + w]);
        MPI_Waitall(2 * window, req, MPI_STATUSES_IGNORE);
    }
    return seconds() - start;
}

static double rounds(long n)
{
    MPI_Request req[WINDOW];
    int answer = 0;
    double start = seconds();
    for (long i = 0; i < n; i++) {
        for (int w = 0; w < window; w++) {
            char *p = buffer + (size_t)w * size;
            if (rank == 0)
                MPI_Isend(p, (int)size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[w]);
            else
                MPI_Irecv(p, (int)size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[w]);
        }
        MPI_Waitall(window, req, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(&answer, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    return seconds() - start;
}

/* One row: `directions` ways at once. */
static void measure(const char *kind, double (*batch)(long), int directions, int quick)
{
    enum { MAX_REPS = 9 };
    double v[MAX_REPS];
    char label[24], name[64];
    int reps = quick ? 3 : MAX_REPS;
    size_t room = pool / (size_t)directions;
    window = room / size < WINDOW ? (int)(room / size) : WINDOW;
    long n = calibrate(rank, batch, quick ? 0.01 : 0.04);
    for (int r = 0; r < reps; r++)
        v[r] = (double)size * window * directions * (double)n / batch(n) * 1e-6;
    if (rank == 0) {
        snprintf(name, sizeof name, "%s/%s", kind, size_name(size, label));
        report(name, "MB/s", v, reps);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
    static const size_t sizes_both[] = {16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    int ranks, quick = is_quick(argc, argv);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "bandwidth: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    buffer = page_buffer(pool);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size = sizes[i];
        measure("bandwidth", rounds, 1, quick);
    }
    for (size_t i = 0; i < sizeof sizes_both / sizeof *sizes_both; i++) {
        size = sizes_both[i];
        measure("bandwidth-both", rounds_both, 2, quick);
    }
    MPI_Finalize();
    return 0;
}
