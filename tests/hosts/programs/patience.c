// patience MODE: rank 0 sends to rank 1 on another host, which does not receive for some seconds.
//   first   the first 8 bytes: the call returns within 100 ms
//   fill    more than a link can hold, of all lengths; then all is received, in order
//   tags    100,000 messages of tag 1, then one of tag 2, which is received first; memory is bounded
//   leave   rank 0 ends with MPI_Finalize while rank 1 has not read anything yet
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MANY = 100000, BIG = 4 << 20, COUNT = 40 };
static int rank;

static void check(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "rank %d: not true: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void first(void) {
    long word = 5;
    if (rank == 0) {
        double begun = MPI_Wtime();
        MPI_Send(&word, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
        check(MPI_Wtime() - begun < 0.1, "the send returns within 100 ms");
    } else {
        sleep(5);
        MPI_Recv(&word, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(word == 5, "the word came");
    }
}

static void fill(int leave) {
    static int lengths[COUNT];
    for (int i = 0; i < COUNT; i++) lengths[i] = i % 3 == 0 ? 8 : i % 3 == 1 ? 50000 : BIG;
    if (leave)
        for (int i = 0; i < COUNT; i++) lengths[i] = 20000;
    char *bytes = malloc((size_t)BIG * COUNT);
    MPI_Request requests[COUNT];
    if (rank == 0) {
        for (int i = 0; i < COUNT; i++) {
            memset(bytes + (size_t)i * BIG, i + 1, lengths[i]);
            MPI_Isend(bytes + (size_t)i * BIG, lengths[i], MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    } else {
        sleep(5);
        for (int i = 0; i < COUNT; i++) {
            MPI_Status status;
            int count;
            MPI_Recv(bytes, BIG, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &count);
            check(status.MPI_TAG == i && count == lengths[i], "messages come in order");
            check(bytes[0] == i + 1 && bytes[count - 1] == i + 1, "with their bytes");
        }
    }
    free(bytes);
}

static void tags(void) {
    static char kib[1024];
    if (rank == 0) {
        MPI_Request *requests = malloc((MANY + 1) * sizeof *requests);
        for (int i = 0; i < MANY; i++) MPI_Isend(kib, sizeof kib, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(kib, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[MANY]);
        MPI_Waitall(MANY + 1, requests, MPI_STATUSES_IGNORE);
        free(requests);
    } else {
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        MPI_Recv(kib, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        getrusage(RUSAGE_SELF, &after);
        long grown = after.ru_maxrss - before.ru_maxrss;
        printf("grown by %ld KiB\n", grown);
        check(grown < 128 << 10, "100,000 messages of 1 KiB take less than 128 MiB");
        for (int i = 0; i < MANY; i++) MPI_Recv(kib, sizeof kib, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *mode = argc > 1 ? argv[1] : "first";
    if (!strcmp(mode, "first")) first();
    if (!strcmp(mode, "fill")) fill(0);
    if (!strcmp(mode, "tags")) tags();
    if (!strcmp(mode, "leave")) fill(1);
    MPI_Finalize();
    if (rank == 1) printf("all well\n");
    return 0;
}
