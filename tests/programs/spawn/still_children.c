// ranks: 1 2
// The program's own children are its own: spawning neither waits for them nor sends it signals, and changes no handler or mask.
#include "family.h"
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t told;
static void note(int signal) { told += signal == SIGCHLD; }

int main(int argc, char **argv) {
    sigset_t mask, after;
    MPI_Comm children;
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        // A rank starts with nothing blocked, whatever the process that spawned it blocks.
        sigprocmask(SIG_SETMASK, NULL, &mask);
        CHECK(!sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGTERM));
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    signal(SIGCHLD, note);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int gate[2];
    CHECK(!pipe(gate));
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 17 : 1);
    }
    OK(spawn_self(argv, "child", 2, 0, MPI_COMM_WORLD, &children));
    OK(MPI_Comm_disconnect(&children));
    CHECK_EQ(told, 0);
    sigprocmask(SIG_SETMASK, NULL, &after);
    CHECK(sigismember(&after, SIGUSR1) && !sigismember(&after, SIGTERM));
    int status;
    close(gate[1]);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 17);
    return finish();
}
