// ranks: 1 2 3 4 8 16
// A token goes round a ring, each rank adding to it, first small, then grown to a large message.
#include "../check.h"

enum { LAPS = 50 };

static void lap_small(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, token = 0;
    MPI_Request r;
    for (int lap = 0; lap < LAPS; lap++) {
        if (rank == 0) {
            MPI_Isend(&token, 1, MPI_INT, right, lap, MPI_COMM_WORLD, &r);
            int got = -1;
            MPI_Recv(&got, 1, MPI_INT, left, lap, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            CHECK_EQ(got, token + (size - 1) * size / 2);
            token = got;
        } else {
            MPI_Recv(&token, 1, MPI_INT, left, lap, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token += rank;
            MPI_Send(&token, 1, MPI_INT, right, lap, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) CHECK_EQ(token, LAPS * ((size - 1) * size / 2));
}

static void lap_large(int n) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int *token = get_memory(n * sizeof *token), *got = get_memory(n * sizeof *got);
    MPI_Request r;
    for (int i = 0; i < n; i++) token[i] = i;
    if (rank == 0) {
        MPI_Isend(token, n, MPI_INT, right, 1, MPI_COMM_WORLD, &r);
        MPI_Recv(got, n, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            if (got[i] != i + size - 1) CHECK_EQ(got[i], i + size - 1);
    } else {
        MPI_Recv(got, n, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++) got[i]++;
        MPI_Send(got, n, MPI_INT, right, 1, MPI_COMM_WORLD);
    }
    free(token);
    free(got);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    lap_small();
    lap_large(1000);
    lap_large(300000);
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
