/* MPI_Pack and MPI_Unpack by all ranks at the same time: what the memory of the machine leaves to each. The rate of the
 * slowest rank. (datatypes.c compares more layouts with loops written by hand, at one rank.)
 *
 * dense: bytes without gaps; stride16: blocks of 8 bytes every 16; column: doubles of a matrix with rows of 8 KiB.
 */
#include <mpi.h>

#include "bench.h"

static int rank, ranks;

static double batch(char *data, char *packed, size_t size, MPI_Datatype type, int unpacks, long n)
{
    tell_all(rank, ranks, 0);
    double start = seconds();
    for (long i = 0; i < n; i++) {
        int position = 0;
        if (unpacks)
            MPI_Unpack(packed, (int)size, &position, data, 1, type, MPI_COMM_WORLD);
        else
            MPI_Pack(data, 1, type, packed, (int)size, &position, MPI_COMM_WORLD);
    }
    return largest(rank, ranks, seconds() - start);
}

static void measure(const char *layout, size_t size, size_t stride, int quick)
{
    enum { MAX_REPS = 9 };
    double v[MAX_REPS];
    char label[24], name[64];
    int reps = quick ? 3 : MAX_REPS;
    MPI_Datatype type;
    if (stride)
        MPI_Type_vector((int)(size / 8), 1, (int)(stride / 8), MPI_DOUBLE, &type);
    else
        MPI_Type_contiguous((int)size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    char *data = page_buffer(stride ? size / 8 * stride : size), *packed = page_buffer(size);
    for (int unpacks = 0; unpacks < 2; unpacks++) {
        long n = 1;
        for (;;) {
            double spent = batch(data, packed, size, type, unpacks, n);
            long next = tell_all(rank, ranks, spent < (quick ? 0.002 : 0.01) && n < 1L << 24 ? 2 * n : n);
            if (next == n)
                break;
            n = next;
        }
        for (int r = 0; r < reps; r++)
            v[r] = (double)n * (double)size / batch(data, packed, size, type, unpacks, n) * 1e-9;
        if (rank == 0) {
            snprintf(name, sizeof name, "pack-%d/%s/%s/%s", ranks, unpacks ? "unpack" : "pack", layout, size_name(size, label));
            report(name, "GB/s", v, reps);
        }
    }
    free(data);
    free(packed);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1 << 10, 64 << 10, 1 << 20};
    int quick = is_quick(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        measure("dense", sizes[s], 0, quick);
        measure("stride16", sizes[s], 16, quick);
    }
    measure("column", 8 << 10, 8 << 10, quick);
    MPI_Finalize();
    return 0;
}
