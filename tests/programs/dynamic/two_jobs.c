// ranks: 1 2 3
// args: 1
// args: 2
// timeout: 60
// Two jobs that were started separately connect, communicate in all ways, and disconnect.
#include "jobs.h"

static int remote;

// Each process sends to all processes of the other group, in all modes and sizes.
static void messages(MPI_Comm inter) {
    static const int sizes[] = {0, 1, 40, 41, 4096, 8192, 8193, 100000, 1 << 20};
    for (unsigned at = 0; at < sizeof sizes / sizeof *sizes; at++) {
        int bytes = sizes[at];
        for (int mode = 0; mode < 3; mode++) {
            MPI_Request sends[8];
            char *out = get_memory((size_t)bytes), *in = get_memory((size_t)bytes);
            fill(out, (size_t)bytes, (unsigned)rank);
            for (int to = 0; to < remote; to++) {
                if (mode == 0) MPI_Isend(out, bytes, MPI_BYTE, to, mode, inter, &sends[to]);
                if (mode == 1) MPI_Issend(out, bytes, MPI_BYTE, to, mode, inter, &sends[to]);
                if (mode == 2) MPI_Send_init(out, bytes, MPI_BYTE, to, mode, inter, &sends[to]), MPI_Start(&sends[to]);
            }
            for (int from = remote - 1; from >= 0; from--) {
                MPI_Status status;
                memset(in, 0, (size_t)bytes);
                if (mode == 1) MPI_Probe(from, mode, inter, &status);
                MPI_Recv(in, bytes, MPI_BYTE, from, mode, inter, &status);
                CHECK_STATUS(status, from, mode, bytes);
                CHECK_PATTERN(in, bytes, from);
            }
            MPI_Waitall(remote, sends, MPI_STATUSES_IGNORE);
            for (int to = 0; mode == 2 && to < remote; to++) MPI_Request_free(&sends[to]);
            free(out);
            free(in);
        }
    }
    // From any source.
    int token = 1000 + rank, sum = 0;
    MPI_Request sends[8];
    for (int to = 0; to < remote; to++) MPI_Isend(&token, 1, MPI_INT, to, 9, inter, &sends[to]);
    for (int i = 0; i < remote; i++) {
        int got;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 9, inter, &status);
        CHECK_EQ(got, 1000 + status.MPI_SOURCE);
        CHECK_EQ(status.MPI_TAG, 9);
        sum += got;
    }
    CHECK_EQ(sum, 1000 * remote + remote * (remote - 1) / 2);
    MPI_Waitall(remote, sends, MPI_STATUSES_IGNORE);
    // Vectors on one side.
    MPI_Datatype vector;
    MPI_Type_vector(10000, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    int *from = get_memory(20000 * sizeof(int)), *to = get_memory(10000 * sizeof(int));
    for (int i = 0; i < 20000; i++) from[i] = i;
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(from, 1, vector, 0, 3, inter, &request);
        MPI_Recv(to, 10000, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < 10000; i++) CHECK_EQ(to[i], 2 * i);
    }
    MPI_Type_free(&vector);
    free(from);
    free(to);
}

static void collectives(MPI_Comm inter, int server) {
    int own = server ? rank + 1 : (rank + 1) * 100, got = -1;
    MPI_Allreduce(&own, &got, 1, MPI_INT, MPI_SUM, inter);
    CHECK_EQ(got, remote * (remote + 1) / 2 * (server ? 100 : 1));
    int word = server ? 77 : -1;
    MPI_Bcast(&word, 1, MPI_INT, server ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, inter);
    CHECK_EQ(word, 77);
    int all[8] = {0};
    MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++) CHECK_EQ(all[i], (i + 1) * (server ? 100 : 1));
    MPI_Barrier(inter);
    MPI_Request request;
    MPI_Ibarrier(inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm twin;
    MPI_Comm_dup(inter, &twin);
    MPI_Allreduce(&own, &got, 1, MPI_INT, MPI_MAX, twin);
    CHECK_EQ(got, remote * (server ? 100 : 1));
    MPI_Comm_free(&twin);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char port[MPI_MAX_PORT_NAME] = "";
    int server = argc < 3, clients = atoi(argv[1]);
    pid_t job = 0;
    MPI_Comm inter;
    if (server) {
        if (rank == size - 1) {
            MPI_Open_port(MPI_INFO_NULL, port);
            job = start_job(clients, argv[0], argv[1], port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &inter);
    } else {
        MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    }
    int is_inter = 0, local = 0;
    MPI_Comm_test_inter(inter, &is_inter);
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(is_inter);
    CHECK_EQ(local, size);
    if (server) CHECK_EQ(remote, clients);
    messages(inter);
    collectives(inter, server);
    messages(inter);
    MPI_Comm_disconnect(&inter);
    CHECK(inter == MPI_COMM_NULL);
    if (job) {
        MPI_Close_port(port);
        end_job(job, 0);
    }
    return finish();
}
