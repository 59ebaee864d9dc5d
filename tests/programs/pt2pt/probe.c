// ranks: 1 2 3 8
// MPI_Probe and MPI_Iprobe: they say what a receive would get, do not take it, may be repeated, and
// find the earliest match; a receive sized by the probe gets exactly that message.
#include "../check.h"

static int right, left;

static void sized_by_probe(void) {
    static const int sizes[] = {0, 1, 40, 41, 1000, 9000, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int n = sizes[i], flag = 0;
        char *out = get_memory(n);
        MPI_Request send;
        MPI_Status status;
        MPI_Count bytes = -1;
        fill(out, n, rank + n);
        MPI_Isend(out, n, MPI_BYTE, right, 5 + (int)i, MPI_COMM_WORLD, &send);
        MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, left, 5 + (int)i, n);
        memset(&status, 0x11, sizeof status);
        MPI_Probe(MPI_ANY_SOURCE, 5 + (int)i, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, left, 5 + (int)i, n);
        MPI_Iprobe(left, 5 + (int)i, MPI_COMM_WORLD, &flag, &status);
        CHECK_EQ(flag, 1);
        MPI_Get_count_c(&status, MPI_BYTE, &bytes);
        char *in = get_memory(bytes);
        MPI_Recv_c(in, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        CHECK_STATUS(status, left, 5 + (int)i, n);
        CHECK_PATTERN(in, n, left + n);
        MPI_Iprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        free(out);
        free(in);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// A posted receive has first claim: a probe must not see its message.
static void posted_goes_first(void) {
    int out[2] = {10 + rank, 20 + rank}, in = -1, got = -1, flag = -1;
    MPI_Request receive, sends[2];
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&out[0], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(&out[1], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &sends[1]);
    MPI_Probe(left, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    CHECK_EQ(got, 20 + left);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_EQ(in, 10 + left);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Blocking probe of a message that comes late, and nonblocking probe until it comes.
static void late(void) {
    int value = rank, got = -1, flag = 0;
    MPI_Status status;
    if (rank == 0) {
        for (int r = 1; r < size; r++) {
            MPI_Probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status);
            MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 8, MPI_COMM_WORLD, &status);
            CHECK_EQ(got, status.MPI_SOURCE);
        }
        for (int r = 1; r < size; r++) {
            for (flag = 0; !flag;) MPI_Iprobe(r, 9, MPI_COMM_WORLD, &flag, &status);
            CHECK_STATUS(status, r, 9, (int)sizeof(int));
            MPI_Recv(&got, 1, MPI_INT, r, 9, MPI_COMM_WORLD, &status);
            CHECK_EQ(got, r);
        }
    } else {
        sleep_ms(30);
        MPI_Ssend(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
        sleep_ms(10);
        MPI_Ssend(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    sized_by_probe();
    posted_goes_first();
    late();
    return finish();
}
