// ranks: 32
// launch: --pretend-hosts 32
// timeout: 60
// expect-exit: nonzero
// expect-stderr: `ulimit -n` allows 40 open files
// More links than the hard limit of descriptors allows: the error names the limit.
#include "../check.h"

int main(int argc, char **argv) {
    const struct rlimit limit = {40, 40};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    start(&argc, &argv);
    int in[64], out[64] = {0};
    MPI_Request requests[128];
    for (int i = 0; i < size; i++) {
        OK(MPI_Irecv(&in[i], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[i]));
        OK(MPI_Isend(&out[i], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[size + i]));
    }
    OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
    return finish();
}
