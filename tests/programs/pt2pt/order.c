// ranks: 1 2 3 8
// Messages of one pair never overtake: empty, small, eager and large ones mixed, one tag, received
// posted, unexpected and half of each, by rank and tag or by wildcards.
#include "../check.h"

enum { N = 120, LARGE = 150000 };
static const int lengths[] = {0, 4, LARGE, 16, 48, 8192, 0, 70000, 1, 4096, 65536, 200, 20000};
enum { KINDS = sizeof lengths / sizeof *lengths };
static char *out[N], *in[N];

static int length_of(int i) { return lengths[i * 7 % KINDS]; }

// Every rank sends N messages to the right and receives N from the left; `early` receives are
// posted before any message is sent, the others after all have been.
static void stream(int early, int source, int tag) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request sends[N], receives[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++) {
        fill(out[i], length_of(i), rank * 1000 + i);
        memset(in[i], 0, length_of(i));
    }
    for (int i = 0; i < early; i++)
        MPI_Irecv(in[i], LARGE, MPI_BYTE, source == MPI_ANY_SOURCE ? source : left, tag, MPI_COMM_WORLD,
                  &receives[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        int n = length_of(i);
        if (i % 5 == 4)
            MPI_Issend(out[i], n, MPI_BYTE, right, 5, MPI_COMM_WORLD, &sends[i]);
        else
            MPI_Isend(out[i], n, MPI_BYTE, right, 5, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = early; i < N; i++)
        MPI_Irecv(in[i], LARGE, MPI_BYTE, source == MPI_ANY_SOURCE ? source : left, tag, MPI_COMM_WORLD,
                  &receives[i]);
    MPI_Waitall(N, receives, statuses);
    for (int i = 0; i < N; i++) {
        CHECK_STATUS(statuses[i], left, 5, length_of(i));
        CHECK_PATTERN(in[i], length_of(i), left * 1000 + i);
    }
    MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

// The same with blocking calls between neighbours: the receiver asks by wildcard and must see the
// sender's order whatever the sizes.
static void blocking_stream(void) {
    int peer = rank ^ 1;
    if (peer >= size) return;
    MPI_Status status;
    for (int i = 0; i < N; i++) {
        int n = length_of(i);
        if (rank & 1) {
            MPI_Recv(in[i], LARGE, MPI_BYTE, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            CHECK_STATUS(status, peer, i, n);
            CHECK_PATTERN(in[i], n, i);
        } else {
            fill(out[i], n, i);
            MPI_Send(out[i], n, MPI_BYTE, peer, i, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    for (int i = 0; i < N; i++) {
        out[i] = get_memory(LARGE);
        in[i] = get_memory(LARGE);
    }
    static const int earlies[] = {0, N / 2, N};
    for (int e = 0; e < 3; e++) {
        stream(earlies[e], 0, 5);
        stream(earlies[e], MPI_ANY_SOURCE, 5);
        stream(earlies[e], 0, MPI_ANY_TAG);
        stream(earlies[e], MPI_ANY_SOURCE, MPI_ANY_TAG);
    }
    blocking_stream();
    for (int i = 0; i < N; i++) {
        free(out[i]);
        free(in[i]);
    }
    return finish();
}
