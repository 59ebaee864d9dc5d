// ranks: 16
// launch: --pretend-hosts 16
// timeout: 120
// The memory of a rank does not grow with the number of processes of other hosts that it talks to.
#include "../check.h"

enum { DOUBLES = 8 << 10, ROUNDS = 10, MOST_GROWTH_KB = 360 };

static double in[DOUBLES], out[DOUBLES];

static double anonymous_kb(void) {
    char line[256];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status)) {
        if (sscanf(line, "RssAnon: %ld", &kb) == 1) break;
    }
    fclose(status);
    CHECK(kb > 0);
    return kb;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int i = 0; i < DOUBLES; i++) in[i] = out[i] = rank;
    double growth, mean, before = anonymous_kb();
    for (int round = 0; round < ROUNDS; round++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        OK(MPI_Allreduce(in, out, DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EQ((int)out[DOUBLES - 1], size * (size - 1) / 2);
    }
    growth = anonymous_kb() - before;
    OK(MPI_Reduce(&growth, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    if (rank == 0) {
        mean /= size;
        printf("%.0f kB more\n", mean);
        CHECK(mean < MOST_GROWTH_KB);
    }
    MPI_Finalize();
    return 0;
}
