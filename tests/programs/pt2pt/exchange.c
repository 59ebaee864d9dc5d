// ranks: 1 2 3 4 8
// Large messages both ways at once, by isend/irecv and by sendrecv, and between all pairs: no deadlock
// and every byte in place.
#include "../check.h"

static void pairwise(size_t n) {
    int peer = rank ^ 1;
    if (peer >= size) return;
    char *out = get_memory(n), *in = get_memory(n);
    MPI_Request r[2];
    MPI_Status status;
    for (int round = 0; round < 3; round++) {
        fill(out, n, rank + round);
        memset(in, 0, n);
        MPI_Irecv(in, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out, (int)n, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        CHECK_PATTERN(in, n, peer + round);
        memset(in, 0, n);
        MPI_Sendrecv(out, (int)n, MPI_BYTE, peer, 2, in, (int)n, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, peer, 2, (long long)n);
        CHECK_PATTERN(in, n, peer + round);
        // Sends first on both sides, then the receives: the sends must not need each other.
        memset(in, 0, n);
        MPI_Isend(out, (int)n, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &r[1]);
        MPI_Recv(in, (int)n, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &status);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, n, peer + round);
    }
    free(out);
    free(in);
}

// A window of several large messages each way.
static void window(size_t n) {
    enum { DEEP = 8 };
    int peer = rank ^ 1;
    if (peer >= size) return;
    char *out = get_memory(n * DEEP), *in = get_memory(n * DEEP);
    MPI_Request r[2 * DEEP];
    for (int i = 0; i < DEEP; i++) {
        fill(out + i * n, n, rank + 10 * i);
        MPI_Irecv(in + i * n, (int)n, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[i]);
    }
    for (int i = DEEP - 1; i >= 0; i--) MPI_Isend(out + i * n, (int)n, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[DEEP + i]);
    MPI_Waitall(2 * DEEP, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < DEEP; i++) CHECK_PATTERN(in + i * n, n, peer + 10 * i);
    free(out);
    free(in);
}

static void all_pairs(size_t n) {
    char *out = get_memory(n * size), *in = get_memory(n * size);
    MPI_Request *r = get_memory(2 * size * sizeof *r);
    MPI_Status *statuses = get_memory(2 * size * sizeof *statuses);
    for (int p = 0; p < size; p++) {
        fill(out + p * n, n, 100 * rank + p);
        MPI_Irecv(in + p * n, (int)n, MPI_BYTE, p, 4, MPI_COMM_WORLD, &r[p]);
    }
    for (int k = 0; k < size; k++) {
        int p = (rank + k) % size;
        MPI_Isend(out + p * n, (int)n, MPI_BYTE, p, 4, MPI_COMM_WORLD, &r[size + p]);
    }
    MPI_Waitall(2 * size, r, statuses);
    for (int p = 0; p < size; p++) {
        CHECK_STATUS(statuses[p], p, 4, (long long)n);
        CHECK_PATTERN(in + p * n, n, 100 * p + rank);
    }
    free(out);
    free(in);
    free(r);
    free(statuses);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {0, 8, 4096, 65536, 1000003, 6 << 20};
    start(&argc, &argv);
    for (int i = 0; i < 6; i++) {
        pairwise(sizes[i]);
        if (sizes[i] <= 1000003) {
            window(sizes[i]);
            all_pairs(sizes[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return finish();
}
