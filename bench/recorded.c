/* recorded HOW: what a call costs that does nearly nothing (MPI_Comm_rank), and a message of a rank to itself (three calls), in
 * a job that mpirun records, or does not: HOW is `off`, `profile` or `trace`, for the names of the rows. */
#include <mpi.h>

#include "bench.h"

enum { REPS = 15, CALLS = 10000 };

static void call(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

static void message(void)
{
    static double from, to;
    MPI_Request request;
    MPI_Irecv(&to, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &request);
    MPI_Send(&from, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void measure(const char *what, const char *how, void (*body)(void), int bodies)
{
    double v[REPS];
    char name[64];
    for (int i = 0; i < bodies; i++)
        body();
    for (int r = 0; r < REPS; r++) {
        double start = seconds();
        for (int i = 0; i < bodies; i++)
            body();
        v[r] = (seconds() - start) / bodies * 1e9;
    }
    snprintf(name, sizeof name, "recorded/%s/%s", what, how);
    report(name, "ns", v, REPS);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        measure("call", argv[1], call, CALLS);
        measure("message", argv[1], message, CALLS);
    }
    MPI_Finalize();
    return 0;
}
