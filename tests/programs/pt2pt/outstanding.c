// ranks: 1 2 4
// Ten thousand messages under way at once: posted before they come, unexpected in the order of their tags,
// unexpected in reverse; each arrives once and whole.
#include "../check.h"

enum { N = 10000 };
static int right, left;
static int *out, *in;
static MPI_Request *sends, *receives;
static MPI_Status *statuses;

static void send_all(int words) {
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < words; k++) out[4 * i + k] = 7 * i + rank + k;
        MPI_Isend(&out[4 * i], words, MPI_INT, right, i, MPI_COMM_WORLD, &sends[i]);
    }
}

static void post(int i) { MPI_Irecv(&in[4 * i], 4, MPI_INT, left, i, MPI_COMM_WORLD, &receives[i]); }

static void complete(int words) {
    MPI_Waitall(N, receives, statuses);
    for (int i = 0; i < N; i++) {
        CHECK_STATUS(statuses[i], left, i, words * (int)sizeof(int));
        for (int k = 0; k < words; k++)
            if (in[4 * i + k] != 7 * i + left + k) CHECK_EQ(in[4 * i + k], 7 * i + left + k);
        for (int k = words; k < 4; k++)
            if (in[4 * i + k] != -1) CHECK_EQ(in[4 * i + k], -1);
    }
    MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void forget(void) {
    for (int i = 0; i < 4 * N; i++) in[i] = -1;
}

// Everything has been sent and, being in order, arrived before this one.
static void all_here(void) {
    MPI_Request r;
    MPI_Isend(NULL, 0, MPI_INT, right, N + 1, MPI_COMM_WORLD, &r);
    MPI_Recv(NULL, 0, MPI_INT, left, N + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    out = get_memory(4 * N * sizeof *out);
    in = get_memory(4 * N * sizeof *in);
    sends = get_memory(N * sizeof *sends);
    receives = get_memory(N * sizeof *receives);
    statuses = get_memory(N * sizeof *statuses);
    for (int words = 0; words <= 4; words += 2) {
        forget(); // posted first, in the order of the tags and in reverse
        for (int i = 0; i < N; i++) post(i);
        MPI_Barrier(MPI_COMM_WORLD);
        send_all(words);
        complete(words);
        forget();
        for (int i = N - 1; i >= 0; i--) post(i);
        MPI_Barrier(MPI_COMM_WORLD);
        send_all(words);
        complete(words);
        forget(); // unexpected, taken in order and in reverse
        send_all(words);
        all_here();
        for (int i = 0; i < N; i++) post(i);
        complete(words);
        forget();
        send_all(words);
        all_here();
        for (int i = N - 1; i >= 0; i--) post(i);
        complete(words);
    }
    free(out);
    free(in);
    free(sends);
    free(receives);
    free(statuses);
    return finish();
}
