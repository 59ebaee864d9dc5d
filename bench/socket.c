// What two plain sockets can do between two hosts: the time of a message one way, with a receiver that polls its socket.
// Every MPI over TCP adds to this.
//
//   socket serve            on one host
//   socket ADDRESS [--quick] on the other; prints the results
#define _GNU_SOURCE
#include "bench.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT = 5199, LARGEST = 4 << 20, MAX_REPS = 11 };
static const long sizes[] = {8, 512, 8 << 10, 64 << 10, 1 << 20, 4 << 20};

static long rounds(long size) { return size >= 1 << 20 ? 20 : 1000; }

static void give_up(const char *what) {
    fprintf(stderr, "socket: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void transfer(int fd, char *bytes, long count, int sends) {
    for (long done = 0; done < count;) {
        ssize_t n = sends ? send(fd, bytes + done, count - done, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : recv(fd, bytes + done, count - done, MSG_DONTWAIT);
        if (n == 0 && !sends)
            exit(0); // the other side has ended
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            give_up(sends ? "send" : "recv");
        done += n > 0 ? n : 0;
    }
}

// Answers rounds until the client ends: each begins with the length of its messages.
static void serve(int fd, char *bytes) {
    for (;;) {
        long size;
        transfer(fd, (char *)&size, sizeof size, 0);
        for (long i = 0; i < rounds(size); i++) {
            transfer(fd, bytes, size, 0);
            transfer(fd, bytes, size, 1);
        }
    }
}

static void measure(int fd, char *bytes, int reps) {
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        long size = sizes[s];
        double v[MAX_REPS];
        for (int r = -1; r < reps; r++) {
            transfer(fd, (char *)&size, sizeof size, 1);
            double start = seconds();
            for (long i = 0; i < rounds(size); i++) {
                transfer(fd, bytes, size, 1);
                transfer(fd, bytes, size, 0);
            }
            if (r >= 0) v[r] = (seconds() - start) / rounds(size) / 2 * 1e6;
        }
        char name[64], text[24];
        snprintf(name, sizeof name, "socket/%s", size_name(size, text));
        report(name, "us", v, reps);
    }
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: socket serve|ADDRESS [--quick]\n");
        return 2;
    }
    int serves = !strcmp(argv[1], "serve"), fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (serves) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(fd, (void *)&address, sizeof address) || listen(fd, 1)) give_up("listen");
        fd = accept(fd, NULL, NULL);
        if (fd < 0) give_up("accept");
    } else {
        inet_pton(AF_INET, argv[1], &address.sin_addr);
        for (int tries = 0; connect(fd, (void *)&address, sizeof address); tries++) {
            if (tries == 100) give_up("connect");
            usleep(50000);
            close(fd);
            fd = socket(AF_INET, SOCK_STREAM, 0);
        }
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    char *bytes = page_buffer(LARGEST);
    if (serves) serve(fd, bytes);
    measure(fd, bytes, is_quick(argc, argv) ? 3 : MAX_REPS);
    return 0;
}
