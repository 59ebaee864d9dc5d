// scan ADDRESS…: for ever, connects to all ports of hosts from 1024 to 2047, and sends garbage, half of a hello, or nothing.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int dial(const char *address, int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

int main(int argc, char **argv) {
    enum { HELD = 500 };
    static int held[HELD];
    for (int i = 0; i < HELD; i++) held[i] = -1;
    for (;;) {
        for (int port = 1024; port < 2048; port++) {
            for (int host = 1; host < argc; host++) {
                // A port that answers is visited many times.
                for (int visit = 0; visit < 200; visit++) {
                    int fd = dial(argv[host], port);
                    if (fd < 0) break;
                    char bytes[300];
                    for (int i = 0; i < (int)sizeof bytes; i++) bytes[i] = (char)rand();
                    if (visit % 3) send(fd, bytes, visit % 2 ? sizeof bytes : 40, MSG_NOSIGNAL);
                    if (visit % 20 == 19) printf("20 visits to port %d of %s\n", port, argv[host]), fflush(stdout);
                    int place = rand() % HELD;
                    if (held[place] >= 0) close(held[place]);
                    held[place] = fd;
                }
            }
        }
    }
}
