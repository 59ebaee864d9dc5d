// While all other ranks hang, rank 0 asks `oxmpi where` for the job and lets them go on.
#include "../check.h"
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

// The parent of a process, if that is mpirun; the folder of its program.
static int parent_of(int pid, char *folder) {
    char path[64], program[PATH_MAX];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *stat = fopen(path, "r");
    if (!stat || fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) != 1) CHECK_FAIL("%s cannot be read", path);
    fclose(stat);
    snprintf(path, sizeof path, "/proc/%d/exe", parent);
    ssize_t length = readlink(path, program, sizeof program - 1);
    if (length < 0) return 0;
    program[length] = 0;
    if (strcmp(strrchr(program, '/'), "/mpirun") != 0) return 0;
    strcpy(folder, dirname(program));
    return parent;
}

static void ask(const char *expected, double longest) {
    static char text[100000], command[PATH_MAX + 64];
    char folder[PATH_MAX];
    int mpirun = 0;
    for (int pid = getpid(); (pid = parent_of(pid, folder));) mpirun = pid;
    snprintf(command, sizeof command, "%s/oxmpi where %d 2>&1", folder, mpirun);
    double begin = MPI_Wtime();
    FILE *answer = popen(command, "r");
    text[fread(text, 1, sizeof text - 1, answer)] = 0;
    if (pclose(answer) != 0) CHECK_FAIL("%.300s: %.500s", command, text);
    double took = MPI_Wtime() - begin;
    if (!strstr(text, expected) || !strstr(text, "rank 0 outside MPI") || !strstr(text, "in MPI_Recv at where.h:")) {
        CHECK_FAIL("oxmpi where: %.900s", text);
    }
    if (took > longest) CHECK_FAIL("oxmpi where took %.2f s", took);
}

int main(int argc, char **argv) {
    int value = 0;
    char expected[64];
    start(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        snprintf(expected, sizeof expected, "(%d ranks on this machine", size);
        sleep(2);
        ask(expected, 1);
        for (int i = 1; i < size; i++) MPI_Send(&value, 1, MPI_INT, i, 7, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return finish();
}
