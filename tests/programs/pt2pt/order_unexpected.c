// ranks: 2 4
// Messages that wait unexpected are taken in the order they were sent among those that match, by
// exact pattern or wildcard, also after some from the middle have gone.
#include "../check.h"

enum { N = 60 };

static int tag_of(int i) { return i * i % 7; }

int main(int argc, char **argv) {
    start(&argc, &argv);
    unsigned state = 12345;
    for (int round = 0; round < 40; round++) {
        if (rank == 0) {
            static int out[N][3000];
            MPI_Request sends[N];
            for (int i = 0; i < N; i++) {
                out[i][0] = i;
                MPI_Isend(out[i], i % 3 == 2 ? 3000 : 1, MPI_INT, 1, tag_of(i), MPI_COMM_WORLD, &sends[i]);
            }
            MPI_Send(NULL, 0, MPI_INT, 1, 99, MPI_COMM_WORLD);
            MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
            MPI_Recv(NULL, 0, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            int gone[N] = {0};
            MPI_Recv(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int left = N; left > 0; left--) {
                static int in[3000];
                MPI_Status status, probed;
                state = state * 1103515245 + 12345;
                int pick = state >> 16 & 15, tag = pick < 7 ? pick : MPI_ANY_TAG, expect = -1;
                for (int i = 0; i < N && expect < 0; i++)
                    if (!gone[i] && (tag == MPI_ANY_TAG || tag == tag_of(i))) expect = i;
                int source = pick & 1 ? 0 : MPI_ANY_SOURCE, flag = -1;
                MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &probed);
                CHECK_EQ(flag, expect >= 0);
                if (expect < 0) {
                    left++;
                    continue;
                }
                int bytes = (expect % 3 == 2 ? 3000 : 1) * (int)sizeof(int);
                CHECK_STATUS(probed, 0, tag_of(expect), bytes);
                MPI_Recv(in, 3000, MPI_INT, source, tag, MPI_COMM_WORLD, &status);
                CHECK_EQ(in[0], expect);
                CHECK_STATUS(status, 0, tag_of(expect), bytes);
                gone[expect] = 1;
            }
            MPI_Send(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
