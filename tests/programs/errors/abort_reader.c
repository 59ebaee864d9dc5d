// ranks: 1
// cflags: -pthread
// A process without mpirun ends in MPI_Abort also while another thread waits for input and holds that stream, and what it has
// written before is seen.
#include "../check.h"
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *read_line(void *nothing) {
    char line[80];
    if (fgets(line, sizeof line, stdin)) printf("read: %s", line);
    return nothing;
}

static int aborting(int *argc, char ***argv) {
    pthread_t reader;
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&reader, NULL, read_line, NULL);
    usleep(200000);
    printf("the last words");
    MPI_Abort(MPI_COMM_WORLD, 7);
    return 1;
}

int main(int argc, char **argv) {
    int in[2], out[2], status;
    char words[80] = {0};
    if (argc > 1) return aborting(&argc, &argv);
    CHECK(pipe(in) == 0 && pipe(out) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[0]), close(out[0]), close(out[1]);
        for (char **entry = environ; *entry;) {
            char name[64] = {0};
            size_t length = strcspn(*entry, "=");
            if (!strncmp(*entry, "OXMPI_", 6) && length < sizeof name) {
                memcpy(name, *entry, length);
                unsetenv(name);
            } else {
                entry++;
            }
        }
        execl(argv[0], argv[0], "abort", (char *)NULL);
        _exit(99);
    }
    // The other end of its input stays open, and nothing comes.
    close(out[1]);
    for (size_t have = 0; have + 1 < sizeof words;) {
        ssize_t got = read(out[0], words + have, sizeof words - 1 - have);
        if (got <= 0) break;
        have += got;
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(!strcmp(words, "the last words"));
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
