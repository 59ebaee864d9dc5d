// ranks: 1 2
// timeout: 100
// A server whose clients connect and disconnect one after another leaks nothing: no descriptor, no mapping, no memory.
#include "jobs.h"
#include <dirent.h>

// Entries of a folder of /proc, or lines of a file.
static int count_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static int count_mappings(void) {
    int count = 0, c;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    while ((c = getc(file)) != EOF) count += c == '\n';
    fclose(file);
    return count;
}

static void talk(MPI_Comm inter, int server) {
    int word = server ? rank : -1, got = -1;
    char *bytes = get_memory(50000);
    fill(bytes, 50000, 3);
    if (server) {
        MPI_Send(&word, 1, MPI_INT, 0, 0, inter);
        MPI_Send(bytes, 50000, MPI_BYTE, 0, 1, inter);
        MPI_Recv(&got, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE);
        CHECK_EQ(got, rank + 10);
    } else {
        int remote;
        MPI_Comm_remote_size(inter, &remote);
        for (int from = 0; from < remote; from++) {
            MPI_Recv(&got, 1, MPI_INT, from, 0, inter, MPI_STATUS_IGNORE);
            memset(bytes, 0, 50000);
            MPI_Recv(bytes, 50000, MPI_BYTE, from, 1, inter, MPI_STATUS_IGNORE);
            CHECK_PATTERN(bytes, 50000, 3);
            got += 10;
            MPI_Send(&got, 1, MPI_INT, from, 2, inter);
        }
    }
    free(bytes);
}

static void visit(const char *port, int times) {
    for (int turn = 0; turn < times; turn++) {
        MPI_Comm inter;
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        talk(inter, 0);
        MPI_Comm_disconnect(&inter);
    }
}

static void serve(const char *port, int times) {
    for (int turn = 0; turn < times; turn++) {
        MPI_Comm inter;
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        talk(inter, 1);
        MPI_Comm_disconnect(&inter);
    }
}

#define PROCESSES 30
#define TIMES 2000

int main(int argc, char **argv) {
    start(&argc, &argv);
    if (argc > 1) {
        visit(argv[2], atoi(argv[1]));
        return finish();
    }
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    int descriptors = 0, mappings = 0;
    for (int turn = 0; turn < PROCESSES; turn++) {
        pid_t client = rank == 0 ? start_alone(argv[0], "1", port) : 0;
        serve(port, 1);
        if (rank == 0) end_job(client, 0);
        if (turn == PROCESSES / 2) descriptors = count_descriptors(), mappings = count_mappings();
    }
    CHECK(count_descriptors() <= descriptors + 2);
    CHECK(count_mappings() <= mappings + 6);
    char times[16];
    snprintf(times, sizeof times, "%d", TIMES);
    pid_t client = rank == 0 ? start_alone(argv[0], times, port) : 0;
    serve(port, TIMES / 2);
    long before = resident_kib();
    serve(port, TIMES / 2);
    CHECK(resident_kib() < before + 2048);
    CHECK(count_descriptors() <= descriptors + 2);
    CHECK(count_mappings() <= mappings + 6);
    if (rank == 0) {
        end_job(client, 0);
        MPI_Close_port(port);
    }
    return finish();
}
