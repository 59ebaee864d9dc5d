// ranks: 1 2
// timeout: 180
// A hundred jobs one after the other: nothing grows, and no process is left, not even a zombie.
#include "family.h"
#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>

static int open_files(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    while (readdir(dir)) n++;
    closedir(dir);
    return n;
}

static long mappings(void) {
    long n = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    CHECK(file != NULL);
    for (int c; (c = getc(file)) != EOF;) n += c == '\n';
    fclose(file);
    return n;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        greet(parent);
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    int files = 0;
    long maps = 0, memory = 0;
    for (int i = 0; i < 100; i++) {
        MPI_Comm children;
        if (i == 10) {
            files = open_files();
            maps = mappings();
            memory = resident_kib();
        }
        OK(spawn_self(argv, "child", 1 + i % 2, i % size, MPI_COMM_WORLD, &children));
        greet(children);
        OK(MPI_Comm_disconnect(&children));
        // No child of this process's own was involved.
        CHECK(waitpid(-1, NULL, WNOHANG | __WALL) == -1 && errno == ECHILD);
    }
    // The links to processes of other hosts are closed when those have said farewell.
    for (int i = 0, flag; i < 100 && open_files() > files + 2; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        sleep_ms(20);
    }
    CHECK(open_files() <= files + 2);
    CHECK(mappings() <= maps + 8);
    CHECK(resident_kib() <= memory + 2048);
    return finish();
}
