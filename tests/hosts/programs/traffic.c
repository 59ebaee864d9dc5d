// traffic SECONDS [LONGEST]: all pairs exchange messages of random lengths, and every byte is checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned state = 1;
static unsigned next(void) { return (state = state * 1664525u + 1013904223u) >> 8; }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, rounds = 0, bad = 0, go = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double seconds = argc > 1 ? atof(argv[1]) : 2;
    int longest = argc > 2 ? atoi(argv[2]) : 300000;
    unsigned char *out = malloc((size_t)size * longest), *in = malloc((size_t)size * longest);
    MPI_Request *requests = malloc(2 * size * sizeof *requests);
    double begun = MPI_Wtime();
    while (go) {
        // The same numbers on all ranks.
        int length = next() % 4 ? 1 + next() % 2000 : 1 + next() % longest;
        for (int peer = 0; peer < size; peer++) {
            for (int i = 0; i < length; i++) out[(size_t)peer * length + i] = (unsigned char)(rank * 7 + peer * 13 + i + rounds);
            MPI_Irecv(in + (size_t)peer * length, length, MPI_BYTE, peer, rounds % 100, MPI_COMM_WORLD, &requests[peer]);
        }
        for (int peer = 0; peer < size; peer++)
            MPI_Isend(out + (size_t)peer * length, length, MPI_BYTE, peer, rounds % 100, MPI_COMM_WORLD, &requests[size + peer]);
        MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
        for (int peer = 0; peer < size; peer++)
            for (int i = 0; i < length; i++)
                bad += in[(size_t)peer * length + i] != (unsigned char)(peer * 7 + rank * 13 + i + rounds);
        rounds++;
        if (rounds % 10 == 0) {
            go = MPI_Wtime() - begun < seconds;
            MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    int all = 0;
    MPI_Reduce(&bad, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d bytes wrong\n%d rounds\n", all, rounds);
    free(out), free(in), free(requests);
    MPI_Finalize();
    return bad != 0;
}
