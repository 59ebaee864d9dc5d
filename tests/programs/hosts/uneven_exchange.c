// ranks: 5 6
// launch: --pretend-hosts 3
// timeout: 120
// MPI_Alltoallv, MPI_Alltoallw, MPI_Gatherv and MPI_Scatterv between hosts, in their three forms: empty blocks, some that
// travel with those of other ranks, and long ones. A persistent request is started again with other data.
#include "../check.h"

enum { MOST = 1500, TURNS = 12 };

// Elements from a rank to another one.
static int length(int turn, int from, int to) {
    static const int lengths[] = {0, 1, 3, 17, 100, 512, 513, MOST};
    return lengths[(turn + 3 * from + 5 * to) % 8];
}

static int value(int turn, int from, int to, int index) { return turn * 1000003 + from * 50021 + to * 7001 + index; }

static int *out, *in, *outs, *ins, *out_displs, *in_displs, *out_bytes, *in_bytes;
static MPI_Datatype *types;

// Blocks behind each other, with a gap between them.
static void layout(int turn) {
    int sent = 0, received = 0;
    for (int i = 0; i < size; i++) {
        outs[i] = length(turn, rank, i);
        ins[i] = length(turn, i, rank);
        out_displs[i] = sent;
        in_displs[i] = received;
        out_bytes[i] = 4 * sent;
        in_bytes[i] = 4 * received;
        types[i] = MPI_INT;
        sent += outs[i] + 1;
        received += ins[i] + 1;
    }
}

static void fill_in(int turn, int data) {
    for (int to = 0; to < size; to++)
        for (int i = 0; i < length(turn, rank, to); i++) out[out_displs[to] + i] = value(data, rank, to, i);
    for (int i = 0; i < (MOST + 1) * size; i++) in[i] = -1;
}

static void expect(int turn, int data) {
    int filled = 0, expected = 0;
    for (int from = 0; from < size; from++)
        for (int i = 0; i < ins[from]; i++, expected++)
            if (in[in_displs[from] + i] != value(data, from, rank, i))
                CHECK_FAIL("turn %d: element %d from rank %d is %d", turn, i, from, in[in_displs[from] + i]);
    for (int i = 0; i < (MOST + 1) * size; i++) filled += in[i] != -1;
    CHECK_EQ(filled, expected);
}

static void complete(MPI_Request *request) { OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static void exchange(int turn) {
    MPI_Request request;
    layout(turn);
    fill_in(turn, turn);
    OK(MPI_Alltoallv(out, outs, out_displs, MPI_INT, in, ins, in_displs, MPI_INT, MPI_COMM_WORLD));
    expect(turn, turn);
    fill_in(turn, turn + 1);
    OK(MPI_Ialltoallw(out, outs, out_bytes, types, in, ins, in_bytes, types, MPI_COMM_WORLD, &request));
    complete(&request);
    expect(turn, turn + 1);
    OK(MPI_Alltoallv_init(out, outs, out_displs, MPI_INT, in, ins, in_displs, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &request));
    for (int start = 2; start < 5; start++) {
        fill_in(turn, turn + start);
        OK(MPI_Start(&request));
        complete(&request);
        expect(turn, turn + start);
    }
    OK(MPI_Request_free(&request));
}

// Everything goes to the root, and comes back from it; its blocks are those of a column of the exchange.
static void rooted(int turn, int root) {
    MPI_Request requests[2];
    layout(turn);
    int mine = length(turn, rank, root), *from = out + out_displs[root], *back = malloc(sizeof(int) * (MOST + 1));
    OK(MPI_Gatherv_init(from, mine, MPI_INT, in, ins, in_displs, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Scatterv_init(in, ins, in_displs, MPI_INT, back, mine, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int start = 0; start < 3; start++) {
        fill_in(turn, turn + start);
        for (int i = 0; i <= MOST; i++) back[i] = -1;
        for (int i = 0; i < 2; i++) {
            OK(MPI_Start(&requests[i]));
            complete(&requests[i]);
        }
        if (rank == root) expect(turn, turn + start);
        for (int i = 0; i < mine; i++) CHECK_EQ(back[i], value(turn + start, rank, root, i));
        CHECK_EQ(back[mine], -1);
    }
    for (int i = 0; i < 2; i++) OK(MPI_Request_free(&requests[i]));
    fill_in(turn, turn);
    OK(MPI_Igatherv(from, mine, MPI_INT, in, ins, in_displs, MPI_INT, root, MPI_COMM_WORLD, &requests[0]));
    complete(&requests[0]);
    if (rank == root) expect(turn, turn);
    OK(MPI_Iscatterv(in, ins, in_displs, MPI_INT, back, mine, MPI_INT, root, MPI_COMM_WORLD, &requests[1]));
    complete(&requests[1]);
    for (int i = 0; i < mine; i++) CHECK_EQ(back[i], value(turn, rank, root, i));
    free(back);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int **lists[] = {&outs, &ins, &out_displs, &in_displs, &out_bytes, &in_bytes};
    for (int i = 0; i < 6; i++) *lists[i] = malloc(sizeof(int) * size);
    types = malloc(sizeof(MPI_Datatype) * size);
    out = malloc(sizeof(int) * (MOST + 1) * size);
    in = malloc(sizeof(int) * (MOST + 1) * size);
    for (int turn = 0; turn < TURNS; turn++) {
        exchange(turn);
        rooted(turn, turn % size);
    }
    for (int i = 0; i < 6; i++) free(*lists[i]);
    free(types);
    free(out);
    free(in);
    return finish();
}
