// ranks: 1 2
// Sends to oneself can be cancelled while nothing has matched them; nothing is left to receive then.
#include "../check.h"

int main(int argc, char **argv) {
    static const int sizes[] = {0, 64, 5000, 1 << 20};
    start(&argc, &argv);
    char *out = get_memory(1 << 20);
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < 3; kind++) {
            MPI_Request r;
            MPI_Status status;
            int gone = -1, flag = -1;
            fill(out, sizes[i], kind);
            switch (kind) {
            case 0: MPI_Isend(out, sizes[i], MPI_BYTE, rank, 3, MPI_COMM_WORLD, &r); break;
            case 1: MPI_Issend(out, sizes[i], MPI_BYTE, rank, 3, MPI_COMM_WORLD, &r); break;
            default:
                MPI_Ssend_init(out, sizes[i], MPI_BYTE, rank, 3, MPI_COMM_WORLD, &r);
                MPI_Start(&r);
            }
            OK(MPI_Cancel(&r));
            OK(MPI_Wait(&r, &status));
            MPI_Test_cancelled(&status, &gone);
            if (kind > 0) CHECK_EQ(gone, 1); // synchronous and unmatched: it cannot have completed
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            if (gone) {
                CHECK_EQ(flag, 0);
            } else {
                char *in = get_memory(sizes[i]);
                MPI_Recv(in, sizes[i], MPI_BYTE, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK_PATTERN(in, sizes[i], kind);
                free(in);
            }
            if (kind == 2) MPI_Request_free(&r);
        }
    free(out);
    return finish();
}
