// ranks: 4
// launch: --pretend-hosts 4
// timeout: 60
// expect-exit: nonzero
// expect-stderr: `ulimit -n` allows
// The hard limit of descriptors does not even allow a few links: the error names the limit.
#include "../check.h"
#include <fcntl.h>

int main(int argc, char **argv) {
    start(&argc, &argv);
    // As many as are open now.
    int next = fcntl(0, F_DUPFD, 0);
    const struct rlimit limit = {(rlim_t)next, (rlim_t)next};
    CHECK_EQ(close(next), 0);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int value = 0;
    for (int i = 0; i < size; i++)
        if (i != rank) OK(MPI_Send(&value, 1, MPI_INT, i, 1, MPI_COMM_WORLD));
    return finish();
}
