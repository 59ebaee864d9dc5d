// A second job beside the first: its mpirun is a child of one rank, and its programs are this one with other arguments.
#ifndef JOBS_H
#define JOBS_H

#include "../check.h"
#include <sys/wait.h>

// Starts `mpirun -n ranks PROGRAM ...`; the arguments end with NULL. Ranks are children of their mpirun, so that is found there.
CHECK_UNUSED static pid_t start_job(int ranks, const char *program, const char *first, const char *second) {
    char parent[64], mpirun[4096], count[16];
    snprintf(parent, sizeof parent, "/proc/%d/exe", (int)getppid());
    ssize_t length = readlink(parent, mpirun, sizeof mpirun - 1);
    CHECK(length > 0);
    mpirun[length] = 0;
    snprintf(count, sizeof count, "%d", ranks);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(mpirun, "mpirun", "-n", count, program, first, second, (char *)NULL);
        _exit(99);
    }
    return child;
}

// The same program alone, without any mpirun.
CHECK_UNUSED static pid_t start_alone(const char *program, const char *first, const char *second) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/usr/bin/env", "env", "-u", "OXMPI_JOB", program, first, second, (char *)NULL);
        _exit(99);
    }
    return child;
}

CHECK_UNUSED static void end_job(pid_t job, int expected) {
    int status = -1;
    CHECK_EQ(waitpid(job, &status, 0), job);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), expected);
}

#endif
