// wire PID ADDRESS PID ADDRESS DELAY LOSS: a wire between two hosts, named by processes on them, with a delay in
// microseconds and a loss in thousandths. Each host gets the interface wan0. Runs until it is killed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 2048, FRAMES = 16384 };
static struct {
    double at;
    int to, length;
    char bytes[FRAME];
} queue[FRAMES];
static unsigned head, tail;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void must(int result, const char *what) {
    if (result >= 0) return;
    perror(what);
    exit(1);
}

static int end_of_wire(const char *pid, const char *address) {
    char path[64], command[256];
    int home = open("/proc/self/ns/net", O_RDONLY);
    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    int there = open(path, O_RDONLY);
    must(there, path);
    must(setns(there, CLONE_NEWNET), "setns");
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    must(fd, "/dev/net/tun");
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strcpy(request.ifr_name, "wan0");
    must(ioctl(fd, TUNSETIFF, &request), "TUNSETIFF");
    snprintf(command, sizeof command, "ip addr add %s dev wan0 && ip link set wan0 up", address);
    must(system(command) ? -1 : 0, command);
    must(setns(home, CLONE_NEWNET), "setns");
    close(home), close(there);
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 7) return 2;
    int ends[2] = {end_of_wire(argv[1], argv[2]), end_of_wire(argv[3], argv[4])};
    double delay = atof(argv[5]);
    int loss = atoi(argv[6]);
    printf("the wire is there\n"), fflush(stdout);
    for (;;) {
        while (head != tail && queue[head % FRAMES].at <= now()) {
            int to = queue[head % FRAMES].to;
            // A host that takes nothing loses it, as on any wire.
            if (write(to, queue[head % FRAMES].bytes, queue[head % FRAMES].length) < 0 && errno == EBADF) return 1;
            head++;
        }
        struct pollfd fds[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
        double left = head == tail ? 1e5 : queue[head % FRAMES].at - now();
        if (left > 0) {
            struct timespec limit = {.tv_sec = 0, .tv_nsec = (long)(left * 1000)};
            ppoll(fds, 2, &limit, NULL);
        } else {
            poll(fds, 2, 0);
        }
        for (int end = 0; end < 2; end++) {
            if (!(fds[end].revents & POLLIN)) continue;
            static char lost[FRAME];
            int drop = tail - head == FRAMES || rand() % 1000 < loss;
            char *place = drop ? lost : queue[tail % FRAMES].bytes;
            int length = (int)read(ends[end], place, FRAME);
            if (length <= 0 || drop) continue;
            queue[tail % FRAMES].length = length;
            queue[tail % FRAMES].to = ends[!end];
            queue[tail % FRAMES].at = now() + delay;
            tail++;
        }
    }
}
