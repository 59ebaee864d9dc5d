// ranks: 1 2 3 8
// Matching probes: the message leaves the queue with the probe, is received by its handle alone, in
// any order, and MPI_Improbe says when there is none.
#include "../check.h"

static int right, left;

static void sizes_and_ways(void) {
    static const int sizes[] = {0, 1, 40, 41, 1000, 9000, 300000};
    for (int way = 0; way < 6; way++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            int n = sizes[i], flag = 0, tag = 3 + way;
            char *out = get_memory(n), *in = get_memory(n + 1);
            MPI_Request send, receive;
            MPI_Status status;
            MPI_Message message = MPI_MESSAGE_NULL;
            fill(out, n, rank + n + way);
            in[n] = 0x5a;
            MPI_Isend(out, n, MPI_BYTE, right, tag, MPI_COMM_WORLD, &send);
            if (way & 1)
                while (!flag) MPI_Improbe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
            else
                MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
            CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
            CHECK_STATUS(status, left, tag, n);
            MPI_Iprobe(left, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            CHECK_EQ(flag, 0); // it is no longer in the queue
            memset(&status, 0x11, sizeof status);
            switch (way) {
            case 0: OK(MPI_Mrecv(in, n, MPI_BYTE, &message, &status)); break;
            case 1: OK(MPI_Mrecv_c(in, n, MPI_BYTE, &message, &status)); break;
            case 2: OK(MPI_Imrecv(in, n, MPI_BYTE, &message, &receive)); break;
            case 3: OK(MPI_Imrecv_c(in, n, MPI_BYTE, &message, &receive)); break;
            case 4: OK(MPI_Mrecv(in, n + 1, MPI_BYTE, &message, &status)); break;
            default: OK(MPI_Imrecv(in, n + 1, MPI_BYTE, &message, &receive));
            }
            CHECK(message == MPI_MESSAGE_NULL);
            if (way == 2 || way == 3 || way == 5) MPI_Wait(&receive, &status);
            CHECK_STATUS(status, left, tag, n);
            CHECK_PATTERN(in, n, left + n + way);
            CHECK_EQ(in[n], 0x5a);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            free(out);
            free(in);
            MPI_Barrier(MPI_COMM_WORLD);
        }
}

// Many messages matched first and received in reverse order; other messages overtake them.
static void reverse(void) {
    enum { N = 200 };
    int out[N + 1], got = -1;
    MPI_Request sends[N + 1];
    MPI_Message messages[N];
    MPI_Status status;
    for (int i = 0; i <= N; i++) {
        out[i] = 1000 * rank + i;
        MPI_Isend(&out[i], 1, MPI_INT, right, 2, MPI_COMM_WORLD, &sends[i]);
    }
    for (int i = 0; i < N; i++) {
        MPI_Mprobe(left, 2, MPI_COMM_WORLD, &messages[i], &status);
        CHECK_STATUS(status, left, 2, (int)sizeof(int));
    }
    MPI_Recv(&got, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &status); // overtakes none: the others are matched
    CHECK_EQ(got, 1000 * left + N);
    for (int i = N - 1; i >= 0; i--) {
        MPI_Mrecv(&got, 1, MPI_INT, &messages[i], &status);
        CHECK_EQ(got, 1000 * left + i);
    }
    MPI_Waitall(N + 1, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void none(void) {
    int flag = -1;
    MPI_Message message;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Improbe(rank, 77, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    none();
    sizes_and_ways();
    reverse();
    none();
    return finish();
}
