// ranks: 2 3 4 5 7 8 9
// All ranks get the same bits from an allreduce of floating point numbers, whatever its length and form; the same call gives the same
// bits again; and they are near the sum.
#include "coll.h"

enum { MOST = 70000 };
static double mine[MOST], first[MOST], got[MOST], theirs[MOST];

static double number(int who, int i) {
    uint64_t x = pattern_word((uint64_t)i, (unsigned)who);
    return ((double)(x >> 11) - 4503599627370496.0) * (x & 1 ? 1e-3 : 1e7);
}

static void sum(double *to, int n, int which) {
    MPI_Request r;
    switch (which) {
        case 0: OK(MPI_Allreduce(mine, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); break;
        case 1:
            memcpy(to, mine, (size_t)n * sizeof(double));
            OK(MPI_Allreduce(MPI_IN_PLACE, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
            break;
        case 2:
            OK(MPI_Iallreduce(mine, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r));
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
            break;
    }
}

int main(int argc, char **argv) {
    static const int lengths[] = {1, 2, 7, 64, 1000, 4097, 8192, MOST};
    start(&argc, &argv);
    return_errors();
    for (int i = 0; i < MOST; i++) mine[i] = number(rank, i);
    for (int l = 0; l < 8; l++)
        for (int which = 0; which < 3; which++) {
            int n = lengths[l];
            size_t bytes = (size_t)n * sizeof(double);
            snprintf(what, sizeof what, "%d doubles, way %d", n, which);
            sum(first, n, which);
            for (int again = 0; again < 3; again++) {
                if (again == 1 && rank == size - 1) sleep_ms(1); // another order of arrival
                sum(got, n, which);
                if (memcmp(first, got, bytes)) WRONG("another result, time %d", again);
            }
            if (rank == 0) memcpy(theirs, first, bytes);
            OK(MPI_Bcast(theirs, n, MPI_DOUBLE, 0, MPI_COMM_WORLD));
            if (memcmp(first, theirs, bytes)) WRONG("not the bits of rank 0");
            for (int i = 0; i < n; i++) {
                double exact = 0, scale = 0;
                for (int p = 0; p < size; p++) {
                    exact += number(p, i);
                    scale += number(p, i) < 0 ? -number(p, i) : number(p, i);
                }
                double off = first[i] - exact;
                if (off > 1e-14 * scale || -off > 1e-14 * scale) {
                    WRONG("sum %d is %.17g, not about %.17g", i, first[i], exact);
                    break;
                }
            }
        }
    return finish();
}
