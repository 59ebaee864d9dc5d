// ranks: 1 2 3 8
// timeout: 30
// no-check: messages are left at the end
// Long messages that are never received, to oneself and to the others: MPI_Finalize drops them
// instead of waiting for ranks that are finalizing too.
#include "../check.h"

#include <stdlib.h>

enum { BYTES = 1 << 20 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int me, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *bytes = calloc(BYTES, 1);
    for (int to = 0; to < size; to++) {
        MPI_Request request;
        OK(MPI_Isend(bytes, BYTES, MPI_CHAR, to, 7, MPI_COMM_WORLD, &request));
        OK(MPI_Request_free(&request));
        OK(MPI_Issend(bytes, 1, MPI_CHAR, to, 8, MPI_COMM_WORLD, &request));
        OK(MPI_Request_free(&request));
    }
    MPI_Finalize();
    free(bytes);
    return 0;
}
