// ranks: 1 2
// timeout: 30
// Two processes at the ends of a socket become an intercommunicator, and no bytes are left in the socket.
#include "jobs.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void join(int fd, int value) {
    MPI_Comm inter;
    int local, remote, got = -1;
    OK(MPI_Comm_join(fd, &inter));
    CHECK(inter != MPI_COMM_NULL);
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    CHECK_EQ(local, 1);
    CHECK_EQ(remote, 1);
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    CHECK_EQ(got, 3 - value);
    char byte = (char)('a' + value), other = 0;
    CHECK_EQ(write(fd, &byte, 1), 1);
    CHECK_EQ(read(fd, &other, 1), 1);
    CHECK_EQ(other, 'a' + 3 - value);
    MPI_Comm_disconnect(&inter);
}

// An address of this host at which other hosts reach it, if its name has one.
static struct in_addr own_address(void) {
    char name[256] = "";
    struct in_addr found = {htonl(INADDR_LOOPBACK)};
    struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *list = NULL;
    gethostname(name, sizeof name - 1);
    if (getaddrinfo(name, NULL, &want, &list) == 0) {
        found = ((struct sockaddr_in *)list->ai_addr)->sin_addr;
        freeaddrinfo(list);
    }
    return found;
}

// Ranks 0 and 1 of this job, over TCP.
static void over_tcp(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (on_hosts()) address.sin_addr = own_address();
    socklen_t length = sizeof address;
    int door = socket(AF_INET, SOCK_STREAM, 0), fd;
    if (rank == 0) {
        CHECK_EQ(bind(door, (struct sockaddr *)&address, sizeof address), 0);
        CHECK_EQ(listen(door, 1), 0);
        CHECK_EQ(getsockname(door, (struct sockaddr *)&address, &length), 0);
        MPI_Send(&address, sizeof address, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        fd = accept(door, NULL, NULL);
        close(door);
    } else {
        MPI_Recv(&address, sizeof address, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(connect(door, (struct sockaddr *)&address, sizeof address), 0);
        fd = door;
    }
    join(fd, 1 + rank);
    join(fd, 2 - rank);
    close(fd);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    if (argc > 1) {
        join(atoi(argv[1]), 2);
        join(atoi(argv[1]), 2);
        // The other end is closed without a word.
        MPI_Comm inter;
        CHECK_CLASS(MPI_Comm_join(atoi(argv[1]), &inter), MPI_ERR_OTHER);
        return finish();
    }
    if (rank == 0) {
        int pair[2];
        char number[16];
        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        snprintf(number, sizeof number, "%d", pair[1]);
        fcntl(pair[0], F_SETFD, FD_CLOEXEC);
        pid_t other = start_alone(argv[0], number, NULL);
        close(pair[1]);
        join(pair[0], 1);
        join(pair[0], 1);
        close(pair[0]);
        end_job(other, 0);
    }
    if (size == 2) over_tcp();
    return finish();
}
