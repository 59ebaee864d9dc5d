// ranks: 1 2 3 5 8
// MPI_Isendrecv and MPI_Isendrecv_replace: one request for both halves, complete only when both are,
// its status that of the receive.
#include "../check.h"

static int right, left;

static void shift(int n, int way) {
    char *out = get_memory(n), *in = get_memory(n + 1), *buf = way & 1 ? in : out;
    int wide = way >> 1 & 1, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    fill(buf, n, rank + way);
    in[n] = 0x5a;
    memset(&status, 0x11, sizeof status);
    if (way & 1)
        OK(wide ? MPI_Isendrecv_replace_c(in, n, MPI_BYTE, right, 6, left, 6, MPI_COMM_WORLD, &request)
                : MPI_Isendrecv_replace(in, n, MPI_BYTE, right, 6, left, 6, MPI_COMM_WORLD, &request));
    else
        OK(wide ? MPI_Isendrecv_c(out, n, MPI_BYTE, right, 6, in, n, MPI_BYTE, left, 6, MPI_COMM_WORLD, &request)
                : MPI_Isendrecv(out, n, MPI_BYTE, right, 6, in, n, MPI_BYTE, left, 6, MPI_COMM_WORLD, &request));
    CHECK(request != MPI_REQUEST_NULL);
    if (n & 1)
        while (!flag) MPI_Test(&request, &flag, &status);
    else
        MPI_Wait(&request, &status);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_STATUS(status, left, 6, n);
    CHECK_PATTERN(in, n, left + way);
    CHECK_EQ(in[n], 0x5a);
    free(out);
    free(in);
}

// Many at once, replacing: the data goes all the way round in flight.
static void many(void) {
    enum { N = 50 };
    int values[N];
    MPI_Request requests[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++) {
        values[i] = 100 * rank + i;
        MPI_Isendrecv_replace(&values[i], 1, MPI_INT, right, i, left, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(N, requests, statuses);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(values[i], 100 * left + i);
        CHECK_STATUS(statuses[i], left, i, (int)sizeof(int));
    }
}

// Not complete while one half is missing: the receive half has its message, the send half, which is
// too large to be buffered, has no receiver yet; then the other way round.
static void both_halves(void) {
    enum { BIG = 8 << 20 };
    int flag = -1, one = 1, got = 0, go = 0;
    if (size < 2 || rank > 1) return;
    char *big = get_memory(BIG);
    MPI_Request request;
    if (rank == 0) {
        MPI_Isendrecv(big, BIG, MPI_BYTE, 1, 1, &got, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        MPI_Recv(&one, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(one, 1);
        MPI_Send(&one, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_EQ(got, 1);
        MPI_Isendrecv(&one, 1, MPI_INT, 1, 4, &got, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        MPI_Recv(&go, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0); // my send was received, but nothing has come for me
        MPI_Send(&one, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_EQ(got, 7);
    } else {
        MPI_Send(&one, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        MPI_Send(&one, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        MPI_Recv(&one, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(big, BIG, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&one, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&one, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        MPI_Recv(&one, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        one = 7;
        MPI_Send(&one, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
    free(big);
}

int main(int argc, char **argv) {
    static const int sizes[] = {0, 1, 40, 41, 1000, 9000, 65536, 1000001};
    start(&argc, &argv);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 4; way++) shift(sizes[i], way);
    many();
    MPI_Barrier(MPI_COMM_WORLD);
    both_halves();
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
