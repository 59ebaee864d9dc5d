// Many short messages in a row, which the sender's kernel may put together. Rank 0 starts them and then computes, without
// a call of MPI: the last one must not wait for that. Every message comes whole and in order.
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 20, MESSAGES = 200 };
static const double computing = 0.1;

int main(int argc, char **argv) {
    int rank, wrong = 0;
    double best = 1e9;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < ROUNDS; round++) {
        static long data[MESSAGES];
        MPI_Request requests[MESSAGES];
        if (rank == 0) {
            MPI_Recv(data, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < MESSAGES; i++) {
                data[i] = round * MESSAGES + i;
                MPI_Isend(&data[i], 1, MPI_LONG, 1, 2, MPI_COMM_WORLD, &requests[i]);
            }
            double start = MPI_Wtime();
            while (MPI_Wtime() - start < computing) {
            }
            MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        } else if (rank == 1) {
            double first = 0;
            MPI_Send(data, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);
            for (int i = 0; i < MESSAGES; i++) {
                long got = -1;
                MPI_Recv(&got, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                wrong += got != round * MESSAGES + i;
                if (i == 0)
                    first = MPI_Wtime();
            }
            double took = MPI_Wtime() - first;
            best = took < best ? took : best;
        }
    }
    if (rank == 1)
        printf("%d messages wrong; the last came %s\n", wrong, best < 0.02 ? "soon" : "late");
    MPI_Finalize();
    return 0;
}
