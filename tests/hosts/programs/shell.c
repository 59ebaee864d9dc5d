// shell serve: executes what clients on other hosts of the lab ask for; shell HOST COMMAND…: asks for it. It stands for ssh
// where sshd cannot run, because the tests are not run by root. It asks for no key: the network of the lab is closed.
//
// The client sends the command and a NUL, and its stdin after it. The server sends records: a byte for the stream
// (1 stdout, 2 stderr, 3 the exit status), the number of bytes, the bytes.
#define _GNU_SOURCE
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT "514"

static int write_all(int to, const char *bytes, size_t count) {
    while (count) {
        ssize_t n = write(to, bytes, count);
        if (n <= 0) return -1;
        bytes += n, count -= (size_t)n;
    }
    return 0;
}

static int read_all(int from, char *bytes, size_t count) {
    while (count) {
        ssize_t n = read(from, bytes, count);
        if (n <= 0) return -1;
        bytes += n, count -= (size_t)n;
    }
    return 0;
}

static int put(int to, char stream, const char *bytes, uint32_t count) {
    return write_all(to, &stream, 1) || write_all(to, (char *)&count, 4) || write_all(to, bytes, count) ? -1 : 0;
}

// Carries out one command. Ends when the command has ended, or the client is gone.
static void execute(int client) {
    static char command[1 << 20], buffer[1 << 16];
    size_t length = 0;
    do {
        if (length == sizeof command || read(client, command + length, 1) != 1) return;
    } while (command[length++]);
    int in[2], out[2], err[2];
    if (pipe(in) || pipe(out) || pipe(err)) return;
    pid_t child = fork();
    if (child == 0) {
        dup2(in[0], 0), dup2(out[1], 1), dup2(err[1], 2);
        close_range(3, ~0U, 0);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/bash", "bash", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(in[0]), close(out[1]), close(err[1]);
    struct pollfd fds[] = {{client, POLLIN, 0}, {out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    while (fds[1].fd >= 0 || fds[2].fd >= 0) {
        if (poll(fds, 3, -1) < 0) continue;
        for (int i = 0; i < 3; i++) {
            if (!fds[i].revents) continue;
            ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
            if (i == 0 && n <= 0) {
                close(in[1]), in[1] = fds[0].fd = -1;
            } else if (i == 0) {
                if (in[1] >= 0 && write_all(in[1], buffer, (size_t)n)) close(in[1]), in[1] = -1;
            } else if (n <= 0) {
                fds[i].fd = -1;
            } else if (put(client, (char)i, buffer, (uint32_t)n)) {
                return;
            }
        }
    }
    int status;
    if (waitpid(child, &status, 0) == child) {
        char code = (char)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
        put(client, 3, &code, 1);
    }
}

static struct addrinfo *addresses(const char *host, int flags) {
    struct addrinfo hints = {.ai_flags = flags, .ai_socktype = SOCK_STREAM, .ai_family = host ? AF_UNSPEC : AF_INET6}, *list;
    int error = getaddrinfo(host, PORT, &hints, &list);
    if (error) {
        fprintf(stderr, "shell: Could not resolve hostname %s: %s\n", host ? host : "-", gai_strerror(error));
        exit(255);
    }
    return list;
}

static int serve(void) {
    struct addrinfo *at = addresses(NULL, AI_PASSIVE);
    int listener = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, at->ai_addr, at->ai_addrlen) || listen(listener, 100)) return perror("shell"), 1;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (daemon(0, 0)) return 1;
    for (;;) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0) continue;
        if (fork() == 0) {
            signal(SIGCHLD, SIG_DFL);
            execute(client);
            _exit(0);
        }
        close(client);
    }
}

static int ask(const char *host, char **words) {
    const char *name = strrchr(host, '@') ? strrchr(host, '@') + 1 : host;
    int server = -1;
    for (struct addrinfo *at = addresses(name, 0); at; at = at->ai_next) {
        server = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (server >= 0 && connect(server, at->ai_addr, at->ai_addrlen) == 0) break;
        perror("shell: connect to host");
        close(server), server = -1;
    }
    if (server < 0) return 255;
    for (char **word = words; *word; word++) write_all(server, word == words ? "" : " ", word != words), write_all(server, *word, strlen(*word));
    write_all(server, "", 1);
    static char buffer[1 << 16];
    struct pollfd fds[] = {{0, POLLIN, 0}, {server, POLLIN, 0}};
    for (;;) {
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[0].revents) {
            ssize_t n = read(0, buffer, sizeof buffer);
            if (n <= 0) shutdown(server, SHUT_WR), fds[0].fd = -1;
            else if (write_all(server, buffer, (size_t)n)) return 255;
        }
        if (fds[1].revents) {
            char stream;
            uint32_t count;
            if (read_all(server, &stream, 1) || read_all(server, (char *)&count, 4) || count > sizeof buffer ||
                read_all(server, buffer, count)) {
                fprintf(stderr, "shell: Connection to %s closed\n", name);
                return 255;
            }
            if (stream == 3) return (unsigned char)buffer[0];
            if (write_all(stream, buffer, count)) return 255;
        }
    }
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "serve")) return serve();
    if (argc > 2) return ask(argv[1], argv + 2);
    fputs("usage: shell serve | shell HOST COMMAND…\n", stderr);
    return 2;
}
