/* How much of a long operation passes while the program computes: 100 % means that the operation takes no time of its own.
 *
 * For each operation: its time alone (t), then a computation of about the same time (c) between its start and its wait
 * (both). The overlap is (t + c - both) / the smaller of t and c, at least 0 and at most 100 %. `blocked`: the computation makes no
 * call; `tested`: it calls MPI_Test 20 times.
 */
#include <mpi.h>

#include "bench.h"

static int rank, ranks;
static char *out, *in;

enum what { MESSAGE, ALLREDUCE, BCAST };
static const char *const names[] = {"isend-irecv", "iallreduce", "ibcast"};

static void begin(enum what what, size_t size, MPI_Request request[2])
{
    request[0] = request[1] = MPI_REQUEST_NULL;
    switch (what) {
    case MESSAGE:
        MPI_Irecv(in, (int)size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out, (int)size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, &request[1]);
        break;
    case ALLREDUCE:
        MPI_Iallreduce(out, in, (int)(size / sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[0]);
        break;
    case BCAST:
        MPI_Ibcast(in, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD, &request[0]);
        break;
    }
}

/* Seconds of one operation with so many steps of computation inside, in `parts` parts with a test after each. */
static double once(enum what what, size_t size, long steps, int parts)
{
    MPI_Request request[2];
    int word = 0, flag;
    MPI_Sendrecv_replace(&word, 1, MPI_INT, !rank, 98, !rank, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double start = seconds();
    begin(what, size, request);
    for (int p = 0; p < parts; p++) {
        compute(steps / parts);
        if (parts > 1)
            MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    return seconds() - start;
}

/* The later of both ranks' times, at both. */
static double later(double mine)
{
    double other = 0;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, !rank, 97, &other, 1, MPI_DOUBLE, !rank, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return mine > other ? mine : other;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {64 << 10, 1 << 20, 4 << 20};
    enum { MAX_REPS = 25 };
    double v[MAX_REPS];
    char label[24], name[64];
    int quick = is_quick(argc, argv), reps = quick ? 9 : MAX_REPS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "overlap: needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    out = page_buffer(4 << 20);
    in = page_buffer(4 << 20);
    memset(out, 0, 4 << 20); /* sums stay 0 */

    long million = 1000000;
    double start = seconds();
    compute(million);
    double step = (seconds() - start) / (double)million;
    for (int what = 0; what < 3; what++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            double alone = 1e9;
            for (int i = 0; i < 10; i++) {
                double t = later(once((enum what)what, sizes[s], 0, 1));
                alone = t < alone ? t : alone;
            }
            long steps = (long)(alone / step);
            start = seconds();
            compute(steps);
            double computed = later(seconds() - start), smaller = computed < alone ? computed : alone;
            for (int tested = 0; tested < 2; tested++) {
                for (int r = 0; r < reps; r++) {
                    double both = later(once((enum what)what, sizes[s], steps, tested ? 20 : 1));
                    double share = (alone + computed - both) / smaller * 100;
                    v[r] = share < 0 ? 0 : share > 100 ? 100 : share;
                }
                if (rank == 0) {
                    snprintf(name, sizeof name, "overlap/%s/%s/%s", names[what], size_name(sizes[s], label),
                             tested ? "tested" : "blocked");
                    report(name, "%", v, reps);
                }
            }
        }
    MPI_Finalize();
    return 0;
}
