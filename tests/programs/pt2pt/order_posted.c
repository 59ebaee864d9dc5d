// ranks: 2 4
// Receives posted in turn with different patterns: a message goes to the first receive, in posting
// order, that matches it, however exact, and never to a later one.
#include "../check.h"

enum { N = 4 };

// Rank 1 posts four receives in every order of patterns, rank 0 then sends four messages; a model of
// the rule says which receive gets which.
static void one_order(const int (*patterns)[2], const int *tags) {
    int in[N], taken[N] = {0}, expect[N];
    MPI_Request receives[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++) expect[i] = -1;
    for (int m = 0; m < N; m++)
        for (int i = 0; i < N; i++)
            if (!taken[i] && (patterns[i][1] == MPI_ANY_TAG || patterns[i][1] == tags[m])) {
                taken[i] = 1;
                expect[i] = m;
                break;
            }
    if (rank == 1) {
        for (int i = 0; i < N; i++) {
            in[i] = -1;
            MPI_Irecv(&in[i], 1, MPI_INT, patterns[i][0], patterns[i][1], MPI_COMM_WORLD, &receives[i]);
        }
        MPI_Send(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD);
        int cancelled, left_over = 0;
        for (int i = 0; i < N; i++)
            if (expect[i] >= 0) {
                MPI_Wait(&receives[i], &statuses[i]);
                CHECK_EQ(in[i], 1000 + expect[i]);
                CHECK_STATUS(statuses[i], 0, tags[expect[i]], (int)sizeof(int));
            } else {
                left_over++;
            }
        // What matched nothing is still pending: take it back, and drain as many messages.
        for (int i = 0; i < N; i++)
            if (expect[i] < 0) {
                MPI_Cancel(&receives[i]);
                MPI_Wait(&receives[i], &statuses[i]);
                MPI_Test_cancelled(&statuses[i], &cancelled);
                CHECK_EQ(cancelled, 1);
                CHECK_EQ(in[i], -1);
            }
        for (int i = 0; i < left_over; i++)
            MPI_Recv(&in[0], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        int out[N];
        MPI_Request sends[N];
        MPI_Recv(NULL, 0, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int m = 0; m < N; m++) {
            out[m] = 1000 + m;
            MPI_Isend(&out[m], 1, MPI_INT, 1, tags[m], MPI_COMM_WORLD, &sends[m]);
        }
        MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int choices[4][2] = {{0, 1}, {0, MPI_ANY_TAG}, {MPI_ANY_SOURCE, 1}, {MPI_ANY_SOURCE, MPI_ANY_TAG}};
    static const int tag_lists[][N] = {{1, 1, 1, 1}, {2, 1, 1, 2}, {1, 2, 1, 2}, {2, 2, 2, 1}};
    for (int code = 0; code < 256; code++) {
        int patterns[N][2];
        for (int i = 0; i < N; i++) memcpy(patterns[i], choices[code >> (2 * i) & 3], sizeof patterns[i]);
        for (int t = 0; t < 4; t++) one_order((const int(*)[2])patterns, tag_lists[t]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
