// ranks: 32
// launch: --pretend-hosts 32
// timeout: 120
// More links than the soft limit of descriptors allows: the limit is raised, and low descriptors are left to the program, whose
// select knows no others.
#include "../check.h"
#include <sys/select.h>

int main(int argc, char **argv) {
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    // A machine that does not allow 1,400 has nothing to show here.
    const int can_raise = limit.rlim_max >= 1400;
    if (can_raise) {
        limit.rlim_cur = 40;
        CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    start(&argc, &argv);
    int in[64], out[64];
    MPI_Request requests[128];
    CHECK(size <= 64);
    for (int i = 0; i < size; i++) {
        out[i] = 100 * rank + i;
        OK(MPI_Irecv(&in[i], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[i]));
        OK(MPI_Isend(&out[i], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[size + i]));
    }
    OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < size; i++) CHECK_EQ(in[i], 100 * i + rank);
    // All connections are there, and no others are being made.
    OK(MPI_Barrier(MPI_COMM_WORLD));
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    if (can_raise) CHECK(ends[0] < 40 && ends[1] < 40);
    CHECK_EQ((int)write(ends[1], "x", 1), 1);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval patience = {10, 0};
    CHECK_EQ(select(ends[0] + 1, &set, NULL, NULL, &patience), 1);
    return finish();
}
