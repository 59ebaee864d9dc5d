// ranks: 2
// args: OXMPI_ASYNC_PROGRESS 1
// args: MPICH_ASYNC_PROGRESS 1
// args: OXMPI_ASYNC_PROGRESS 0
// attempts: 3
// timeout: 120
// no-valgrind: what passes in a time is counted
// With asynchronous progress long messages and collective operations of several rounds end while all ranks compute without a
// call, on as many CPUs as there are or fewer: the first MPI_Test finds each of them complete. Without it, the same program
// finds that at least one rank is not. The results have the bits that the same call gives when the program waits at once.
#include "../check.h"

enum { BYTES = 1 << 20, DOUBLES = BYTES / sizeof(double) };

static double *own, *sums, *expected;
static char *out, *in;
static volatile double sink;
static int is_on;

// Computes for so long; the first test of the operation, if there is one, comes after that.
static void compute(double seconds) {
    double x = 1, end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        for (int i = 0; i < 20000; i++) x = x * 1.0000001 + 1e-9;
    sink = x;
}

// Lets the operations go on beside a computation, and looks once: when the bytes have come, and everybody has had time for the
// rest. On a busy machine that takes as many time slices as there are rounds.
static void first_look(MPI_Request *requests, int count, const char *what, int may_be_complete, int (*has_come)(void)) {
    int flag = -1, all = 0;
    compute(0.2);
    for (int i = 0; is_on && i < 40 && !has_come(); i++) compute(0.1);
    if (is_on) compute(0.3);
    MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
    if (is_on && !flag) CHECK_FAIL("%s is not complete after the computation", what);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&flag, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!is_on && !may_be_complete && all) CHECK_FAIL("%s was complete everywhere without asynchronous progress", what);
}

// Different bits for another order of additions.
static double operand(int of, size_t i) { return (double)((i * 2654435761u + (unsigned)of * 40503u) % 1000003) / 7.0; }

// What the same call gives when the program waits at once, and so moves everything itself.
static void expect_sums(MPI_Request *request) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    memcpy(expected, sums, BYTES);
    for (size_t i = 0; i < DOUBLES; i++) {
        double sum = 0;
        for (int r = 0; r < size; r++) sum += operand(r, i);
        CHECK(sums[i] > sum * 0.999999 - 1e-9 && sums[i] < sum * 1.000001 + 1e-9);
    }
}

static int have_sums_come(void) { return !memcmp(expected, sums, BYTES); }

static void check_sums(void) {
    for (size_t i = 0; i < DOUBLES; i++)
        if (memcmp(&expected[i], &sums[i], sizeof *sums)) CHECK_FAIL("element %zu is %.17g, not %.17g", i, sums[i], expected[i]);
}

static void reductions(void) {
    MPI_Request request;
    MPI_Iallreduce(own, sums, DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    expect_sums(&request);
    memset(sums, 0, BYTES);
    MPI_Iallreduce(own, sums, DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    first_look(&request, 1, "MPI_Iallreduce", 0, have_sums_come);
    check_sums();
    MPI_Allreduce_init(own, sums, DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    expect_sums(&request);
    for (int i = 0; i < 2; i++) {
        memset(sums, 0, BYTES);
        MPI_Start(&request);
        first_look(&request, 1, "a persistent MPI_Allreduce", 0, have_sums_come);
        check_sums();
    }
    MPI_Request_free(&request);
}

static int from;
static unsigned seed;

static int has_message_come(void) { return first_difference(in, BYTES, (unsigned)from + seed) == BYTES; }

static void messages(void) {
    MPI_Request requests[2];
    int to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    seed = 0;
    fill(out, BYTES, (unsigned)rank);
    MPI_Irecv(in, BYTES, MPI_BYTE, from, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, BYTES, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[1]);
    first_look(requests, 2, "a long message", 0, has_message_come);
    CHECK_PATTERN(in, BYTES, (unsigned)from);
    // In parts, of which the last is ready at once.
    MPI_Psend_init(out, 4, BYTES / 4, MPI_BYTE, to, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, BYTES / 4, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    seed = 10;
    fill(out, BYTES, (unsigned)rank + seed);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 3, requests[0]);
    first_look(requests, 2, "a partitioned message", 1, has_message_come);
    CHECK_PATTERN(in, BYTES, (unsigned)from + seed);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static int have_blocks_come(void) {
    size_t block = (size_t)(BYTES / size);
    int all = 1;
    for (int r = 0; r < size; r++) all &= first_difference(in + (size_t)r * block, block, (unsigned)(r * size + rank)) == block;
    return all;
}

static void alltoall(void) {
    MPI_Request request;
    int block = BYTES / size;
    for (int r = 0; r < size; r++) fill(out + r * block, (size_t)block, (unsigned)(rank * size + r));
    MPI_Ialltoall(out, block, MPI_BYTE, in, block, MPI_BYTE, MPI_COMM_WORLD, &request);
    // Two ranks send one message each, for which the buffers of a connection may be long enough.
    first_look(&request, 1, "MPI_Ialltoall", size == 2, have_blocks_come);
    for (int r = 0; r < size; r++) CHECK_PATTERN(in + r * block, (size_t)block, (unsigned)(r * size + rank));
}

// Nothing shows in memory.
static int has_lasted(void) {
    static int looks;
    return ++looks % 10 == 0;
}

static void agreement(void) {
    MPI_Request request;
    MPI_Comm copy;
    int value = 1, sum = 0;
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    first_look(&request, 1, "MPI_Comm_idup", 1, has_lasted);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
    CHECK_EQ(sum, size);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    unsetenv("OXMPI_ASYNC_PROGRESS");
    setenv(argv[1], argv[2], 1);
    is_on = !strcmp(argv[2], "1");
    start(&argc, &argv);
    int level = -1, is_main = 0;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    CHECK_EQ(level, MPI_THREAD_SINGLE);
    CHECK(is_main);
    own = get_memory(BYTES);
    sums = get_memory(BYTES);
    expected = get_memory(BYTES);
    out = get_memory(BYTES);
    in = get_memory(BYTES);
    for (size_t i = 0; i < DOUBLES; i++) own[i] = operand(rank, i);
    // Twice: the first one makes boards and links.
    for (int i = size > 2; i < 2; i++) {
        reductions();
        messages();
        alltoall();
        agreement();
    }
    free(own);
    free(sums);
    free(expected);
    free(out);
    free(in);
    return finish();
}
