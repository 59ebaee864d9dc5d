// ranks: 2 3 5
// sleeps: a rank comes late to every call
// timeout: 60
// Ranks that wait for long in collective calls because one of them is late, or that are a call
// ahead of it, are correct: no rank gets an error about different calls. Over a board, by messages,
// on a new communicator, nonblocking ones, with and without large counts.
#include "../check.h"
#include <unistd.h>

static int a[100], b[1000], from_last[100], counts[8], places[8];

// Longer than two looks of a rank that waits.
static void dawdle(int who) {
    if (rank == who) usleep(1300000);
}

static void calls(MPI_Comm comm, int late) {
    MPI_Request request;
    // The root goes on at once; the late rank is two calls behind.
    dawdle(late);
    OK(MPI_Bcast(a, 4, MPI_INT, 0, comm));
    OK(MPI_Gatherv(a, 4, MPI_INT, b, counts, places, MPI_INT, 0, comm));
    OK(MPI_Barrier(comm));
    OK(MPI_Ibcast(from_last, 4, MPI_INT, size - 1, comm, &request));
    dawdle(late);
    OK(MPI_Scatterv(b, counts, places, MPI_INT, a, 4, MPI_INT, size - 1, comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Iallreduce(a, b, 4, MPI_INT, MPI_SUM, comm, &request));
    dawdle(late);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    dawdle(late);
    if (rank % 2) OK(MPI_Allgather(a, 4, MPI_INT, b, 4, MPI_INT, comm));
    else OK(MPI_Allgather_c(a, 4, MPI_INT, b, 4, MPI_INT, comm));
    if (rank % 2) OK(MPI_Reduce(a, b, 4, MPI_INT, MPI_SUM, 0, comm));
    else OK(MPI_Reduce_c(a, b, 4, MPI_INT, MPI_SUM, 0, comm));
}

int main(int argc, char **argv) {
    MPI_Comm other;
    start(&argc, &argv);
    return_errors();
    for (int i = 0; i < size; i++) counts[i] = 4, places[i] = 4 * i;
    calls(MPI_COMM_WORLD, size - 1);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    calls(other, 0);
    OK(MPI_Comm_free(&other));
    // A communicator with the number of one that waited.
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    dawdle(1);
    OK(MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, other));
    OK(MPI_Comm_free(&other));
    return finish();
}
