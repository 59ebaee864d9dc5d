// ranks: 1
// expect-stdout: all is well without mpirun
// A process that was started without mpirun spawns repeatedly. If a job that it spawned fails, the
// process ends too.
#include "family.h"
#include <sys/wait.h>

extern char **environ;

static void leave_job(void) {
    for (char **entry = environ; *entry;) {
        char name[64];
        size_t length = strcspn(*entry, "=");
        if (!strncmp(*entry, "OXMPI_", 6) && length < sizeof name) {
            memcpy(name, *entry, length);
            name[length] = 0;
            unsetenv(name);
        } else {
            entry++;
        }
    }
}

static int run(char *program, char *role) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        leave_job();
        execl(program, program, role, (char *)NULL);
        _exit(99);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

int main(int argc, char **argv) {
    const char *role = argc > 1 ? argv[1] : "";
    if (!*role) {
        CHECK_EQ(run(argv[0], "good"), 0);
        CHECK(WIFSIGNALED(run(argv[0], "bad")));
        printf("all is well without mpirun\n");
        return 0;
    }
    start(&argc, &argv);
    return_errors();
    if (is_child()) {
        if (!strcmp(role, "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
        greet(parent);
        OK(MPI_Comm_disconnect(&parent));
        return finish();
    }
    CHECK_EQ(size, 1);
    MPI_Comm children;
    if (!strcmp(role, "bad")) {
        OK(spawn_self(argv, "abort", 2, 0, MPI_COMM_WORLD, &children));
        sleep_ms(60000);
    }
    for (int i = 0; i < 5; i++) {
        OK(spawn_self(argv, "child", 1 + i % 3, 0, MPI_COMM_SELF, &children));
        greet(children);
        OK(MPI_Comm_disconnect(&children));
    }
    char *none[] = {NULL};
    CHECK_CLASS(MPI_Comm_spawn("./no-such-program", none, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
    return finish();
}
