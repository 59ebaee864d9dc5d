// ranks: 1 2
// expect-exit: 1
// An aborted job has failed, whatever the code: zero does not become success.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Abort(MPI_COMM_WORLD, 0);
    return 0;
}
