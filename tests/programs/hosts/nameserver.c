// ranks: 2 3
// launch: --pretend-hosts 2
// timeout: 60
// Two jobs that share nothing but a name server find each other; names have their errors there, and vanish with their process.
#include "../dynamic/jobs.h"
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

// Starts `oxmpi nameserver`, which lies beside mpirun, on a port that is free; all ranks learn where it is.
static pid_t start_server(void) {
    static char place[64], key[128], mpirun[4096];
    pid_t server = 0;
    if (rank == 0) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t length = sizeof address;
        int probe = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_EQ(bind(probe, (struct sockaddr *)&address, sizeof address), 0);
        CHECK_EQ(getsockname(probe, (struct sockaddr *)&address, &length), 0);
        close(probe);
        snprintf(place, sizeof place, "127.0.0.1:%d", ntohs(address.sin_port));
        snprintf(key, sizeof key, "nameserver-%d.key", (int)getpid());
        char link[64];
        snprintf(link, sizeof link, "/proc/%d/exe", (int)getppid());
        ssize_t count = readlink(link, mpirun, sizeof mpirun - 1);
        CHECK(count > 0);
        mpirun[count] = 0;
        char *slash = strrchr(mpirun, '/');
        strcpy(slash + 1, "oxmpi");
        fflush(NULL);
        server = fork();
        if (server == 0) {
            execl(mpirun, "oxmpi", "nameserver", "--listen", place, "--key-file", key, (char *)NULL);
            _exit(99);
        }
    }
    MPI_Bcast(place, sizeof place, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Bcast(key, sizeof key, MPI_CHAR, 0, MPI_COMM_WORLD);
    setenv("OXMPI_NAMESERVER", place, 1);
    setenv("OXMPI_NAMESERVER_KEY", key, 1);
    return server;
}

static void meet(MPI_Comm inter) {
    int mine = 7, theirs = 0;
    OK(MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, inter));
    CHECK(theirs % 7 == 0 && theirs > 0);
    OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (argc > 1) {
        if (rank == 0) OK(MPI_Lookup_name(argv[1], MPI_INFO_NULL, port));
        OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
        meet(inter);
        // It vanishes with this job.
        if (rank == 0) OK(MPI_Publish_name("of the client", MPI_INFO_NULL, port));
        return finish();
    }
    setenv("OXMPI_NAMESERVER", "nonsense", 1);
    CHECK_ERROR(MPI_Lookup_name("x", MPI_INFO_NULL, found), MPI_ERR_NAME, "nonsense");
    setenv("OXMPI_NAMESERVER", "127.0.0.1:9", 1);
    setenv("OXMPI_NAMESERVER_KEY", "/nonexistent/key", 1);
    CHECK_ERROR(MPI_Publish_name("x", MPI_INFO_NULL, "y"), MPI_ERR_SERVICE, "/nonexistent/key");
    pid_t server = start_server();
    pid_t job = 0;
    if (rank == 0) {
        int class = MPI_ERR_OTHER, code;
        for (int i = 0; i < 500 && class != MPI_ERR_NAME; i++) {
            // The server may not be there yet: then it cannot be reached.
            char text[MPI_MAX_ERROR_STRING] = "";
            int length;
            code = MPI_Lookup_name("a service", MPI_INFO_NULL, found);
            MPI_Error_string(code, text, &length);
            if (strstr(text, "no process has published")) class = MPI_ERR_NAME;
            sleep_ms(10);
        }
        CHECK_EQ(class, MPI_ERR_NAME);
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        OK(MPI_Publish_name("a service", MPI_INFO_NULL, port));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Lookup_name("a service", MPI_INFO_NULL, found));
    if (rank == 1) {
        CHECK_ERROR(MPI_Publish_name("a service", MPI_INFO_NULL, "x"), MPI_ERR_SERVICE, "published already");
        CHECK_ERROR(MPI_Unpublish_name("a service", MPI_INFO_NULL, found), MPI_ERR_SERVICE, "has not published");
    }
    if (rank == 0) job = start_job(2, argv[0], "a service", NULL);
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    meet(inter);
    if (rank == 0) {
        end_job(job, 0);
        for (int i = 0; i < 200 && MPI_Lookup_name("of the client", MPI_INFO_NULL, found) == MPI_SUCCESS; i++) sleep_ms(10);
        CHECK_ERROR(MPI_Lookup_name("of the client", MPI_INFO_NULL, found), MPI_ERR_NAME, "of the client");
        OK(MPI_Unpublish_name("a service", MPI_INFO_NULL, port));
        OK(MPI_Close_port(port));
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
        unlink(getenv("OXMPI_NAMESERVER_KEY"));
    }
    return finish();
}
