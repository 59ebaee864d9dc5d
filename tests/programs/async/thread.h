// The thread of asynchronous progress, as /proc shows it.
#ifndef THREAD_H
#define THREAD_H

#include <dirent.h>

// Reads a file of a thread; its text, until the next call.
static const char *of_thread(long thread, const char *what) {
    static char text[4096];
    char path[80];
    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", thread, what);
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[n] = 0;
    return text;
}

// The number of the thread, or 0. It has its name as soon as it runs.
static long helper(void) {
    long found = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        long thread = strtol(entry->d_name, NULL, 10);
        if (thread > 0 && !strcmp(of_thread(thread, "comm"), "oxmpi-progress\n")) found = thread;
    }
    closedir(tasks);
    return found;
}

CHECK_UNUSED static long await_helper(void) {
    long found = 0;
    for (int i = 0; i < 1000 && !(found = helper()); i++) sleep_ms(5);
    CHECK(found != 0);
    return found;
}

// How often a thread has gone to sleep.
CHECK_UNUSED static long sleeps_of(long thread) {
    const char *line = strstr(of_thread(thread, "status"), "\nvoluntary_ctxt_switches:");
    CHECK(line != NULL);
    return line ? strtol(strchr(line, ':') + 1, NULL, 10) : -1;
}

// The CPU time of a thread in milliseconds.
CHECK_UNUSED static double cpu_ms_of(long thread) { return strtod(of_thread(thread, "schedstat"), NULL) / 1e6; }

#endif
