// ranks: 1 2 3 4 8
// no-check: at the end ranks give other lengths than the root expects
// MPI_Gatherv and MPI_Scatterv whose blocks have very different lengths in one call: empty ones, short ones that go over the
// board, and long ones that go as messages. Between them are other collective operations, which must keep their order. Then
// ranks give other lengths than the root expects.
#include "../check.h"

#define EXPECT(condition, ...)                     \
    do {                                           \
        if (!(condition)) CHECK_FAIL(__VA_ARGS__); \
    } while (0)

enum { MOST = 40000, TURNS = 300 };

static int length(int turn, int whose) {
    static const int lengths[] = {0, 1, 2, 10, 12, 13, 300, 1500, 2500, 9000, 17000, MOST};
    return lengths[(turn / 2 + 5 * whose) % 12];
}

static int value(int turn, int whose, int index) { return turn * 1000003 + whose * 50021 + index; }

// The root's memory for all blocks: every second element of its type is a gap.
static int *all;
static int *own;
static MPI_Datatype spread;

static int layout(int turn, int *counts, int *displs) {
    int next = 1;
    for (int i = size - 1; i >= 0; i--) {
        counts[i] = length(turn, i);
        displs[i] = next;
        next += counts[i] + 3;
    }
    return next;
}

static void gather(int turn, int root, int in_place) {
    int counts[size], displs[size], elements = layout(turn, counts, displs), mine = length(turn, rank);
    for (int i = 0; i < mine; i++) own[i] = value(turn, rank, i);
    if (rank != root) {
        OK(MPI_Gatherv(own, mine, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
        return;
    }
    for (int i = 0; i < 2 * elements; i++) all[i] = -1;
    if (in_place)
        for (int i = 0; i < mine; i++) all[2 * (displs[rank] + i)] = own[i];
    OK(MPI_Gatherv(in_place ? MPI_IN_PLACE : own, mine, MPI_INT, all, counts, displs, spread, root, MPI_COMM_WORLD));
    int expected = 0;
    for (int i = 0; i < size; i++) expected += counts[i];
    for (int i = 0; i < 2 * elements; i++) expected -= all[i] != -1;
    EXPECT(expected == 0, "turn %d: %d elements too few", turn, expected);
    for (int from = 0; from < size; from++)
        for (int i = 0; i < counts[from]; i++)
            if (all[2 * (displs[from] + i)] != value(turn, from, i)) {
                EXPECT(0, "turn %d: element %d from rank %d is %d", turn, i, from, all[2 * (displs[from] + i)]);
                return;
            }
}

static void scatter(int turn, int root, int in_place) {
    int counts[size], displs[size], mine = length(turn, rank);
    layout(turn, counts, displs);
    for (int i = 0; i < MOST; i++) own[i] = -1;
    if (rank == root)
        for (int to = 0; to < size; to++)
            for (int i = 0; i < counts[to]; i++) all[2 * (displs[to] + i)] = value(turn, to, i);
    if (rank == root)
        OK(MPI_Scatterv(all, counts, displs, spread, in_place ? MPI_IN_PLACE : own, mine, MPI_INT, root, MPI_COMM_WORLD));
    else
        OK(MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, own, mine, MPI_INT, root, MPI_COMM_WORLD));
    int filled = in_place && rank == root ? 0 : mine;
    for (int i = 0; i < MOST; i++)
        if (own[i] != (i < filled ? value(turn, rank, i) : -1)) {
            EXPECT(0, "turn %d: element %d is %d", turn, i, own[i]);
            return;
        }
}

// The last rank's block has another length at the root. Short and long ones, more and fewer.
static void wrong_length(int given, int expected) {
    if (size < 2) return;
    int counts[size], displs[size], last = size - 1;
    for (int i = 0; i < size; i++) counts[i] = i == last ? expected : 3, displs[i] = 4 * i;
    int mine = rank == last ? given : 3;
    for (int i = 0; i < MOST; i++) own[i] = rank;
    int code = MPI_Gatherv(own, mine, MPI_INT, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
    int is_root = rank == 0;
    EXPECT(check_class(code) == (is_root ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "gatherv of %d for %d: class %d", given, expected,
          check_class(code));
    if (is_root)
        EXPECT(strstr(check_text(code), "do not match") != NULL, "gatherv of %d for %d: %s", given, expected, check_text(code));
    counts[last] = given;
    mine = rank == last ? expected : 3;
    code = MPI_Scatterv(all, counts, displs, MPI_INT, own, mine, MPI_INT, 0, MPI_COMM_WORLD);
    EXPECT(check_class(code) == (rank == last ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "scatterv of %d for %d: class %d", given,
          expected, check_class(code));
    // The next operations work.
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    EXPECT(sum == size * (size - 1) / 2, "the sum is %d", sum);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    all = malloc(2 * sizeof(int) * ((MOST + 3) * (size_t)size + 8));
    own = malloc(sizeof(int) * MOST);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int turn = 0; turn < TURNS; turn++) {
        int root = turn / 3 % size;
        gather(turn, root, turn % 5 == 0);
        if (turn % 4 == 1) {
            int sum = 0, one = 1;
            OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            EXPECT(sum == size, "the sum is %d", sum);
        }
        if (turn % 4 == 2) {
            // Goes by messages, whose tags must agree.
            MPI_Request request;
            int word = rank == root ? turn : -1;
            OK(MPI_Ibcast(&word, 1, MPI_INT, root, MPI_COMM_WORLD, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            EXPECT(word == turn, "the word is %d", word);
        }
        scatter(turn, root, turn % 7 == 0);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    wrong_length(1, 2);
    // By messages, a block of nothing is no message, and nobody can compare it.
    if (!on_hosts()) {
        wrong_length(3, 0);
        wrong_length(0, 3);
    }
    wrong_length(2500, 2400);
    wrong_length(20000, 30000);
    wrong_length(30000, 20000);
    wrong_length(30000, 1);
    wrong_length(1, 30000);
    MPI_Type_free(&spread);
    free(all);
    free(own);
    return finish();
}
