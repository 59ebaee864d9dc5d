/* What the machine itself can do, without MPI: a lower limit for the other figures.
 *
 * Two processes, each bound to its own CPU, share one mapping.
 *
 *   hop/line      one-way time of a word in ONE cache line that both sides write in turn
 *   hop/ring      the same through two rings of cache lines, like a message queue: the sender must
 *                 first get the line from the receiver that polls it
 *   memcpy/N      private memory to private memory, buffers of N bytes
 *   readv/N       process_vm_readv of N bytes from the other process
 *   syscall       the cheapest system call
 *   yield         sched_yield to another process on the same CPU, one way
 *   futex         wake of a process that sleeps in FUTEX_WAIT on another CPU, one way
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { CELLS = 64, REPS = 21 };
#define FALL_ASLEEP 30e-6
struct line {
    _Alignas(64) _Atomic uint64_t word;
};
struct shared {
    struct line arrived[2], both, ring[2][CELLS];
    struct line address, futex_word[2];
};

static struct shared *s;
static int me, cpus[2];
static uint64_t meetings, seq;
static pid_t other;

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

static void await(_Atomic uint64_t *w, uint64_t value)
{
    while (atomic_load_explicit(w, memory_order_acquire) != value)
        relax();
}

static void put(_Atomic uint64_t *w, uint64_t value)
{
    atomic_store_explicit(w, value, memory_order_release);
}

static void meet(void)
{
    put(&s->arrived[me].word, ++meetings);
    while (atomic_load(&s->arrived[1 - me].word) < meetings)
        sched_yield();
}

static void bind_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        perror("hop: sched_setaffinity");
}

/* The ways to transfer; each moves one message from `from` to the other side. */
static void hand_line(int from)
{
    uint64_t v = ++seq;
    if (me == from)
        put(&s->both.word, v);
    else
        await(&s->both.word, v);
}
static void hand_ring(int from)
{
    uint64_t v = ++seq;
    _Atomic uint64_t *w = &s->ring[from][v / 2 % CELLS].word;
    if (me == from)
        put(w, v);
    else
        await(w, v);
}
static void hand_yield(int from)
{
    uint64_t v = ++seq;
    if (me == from)
        put(&s->both.word, v);
    else
        while (atomic_load(&s->both.word) != v)
            sched_yield();
}
static void hand_futex(int from)
{
    uint64_t v = ++seq;
    _Atomic uint64_t *w = &s->futex_word[from].word;
    if (me == from) {
        double start = seconds(); /* until the other side surely sleeps */
        while (seconds() - start < FALL_ASLEEP)
            relax();
        put(w, v);
        syscall(SYS_futex, w, FUTEX_WAKE, 1, NULL, NULL, 0);
    } else {
        uint64_t seen;
        while ((seen = atomic_load(w)) != v)
            syscall(SYS_futex, w, FUTEX_WAIT, (uint32_t)seen, NULL, NULL, 0);
    }
}

/* `waste`: seconds of each one-way trip that are not counted. */
static void exchange(const char *name, void (*hand)(int), long n, double waste)
{
    double v[REPS];
    for (int r = 0; r < REPS; r++) {
        meet();
        double start = seconds();
        for (long i = 0; i < n; i++) {
            hand(0);
            hand(1);
        }
        v[r] = ((seconds() - start) / (double)n / 2 - waste) * 1e9;
    }
    if (me == 0)
        report(name, "ns", v, REPS);
    meet();
}

static void copies(size_t size, char *a, char *b)
{
    double v[REPS];
    char name[64], label[24];
    long n = (long)((16u << 20) / size) + 1;
    for (int r = 0; r < REPS; r++) {
        double start = seconds();
        for (long i = 0; i < n; i++) {
            memcpy(b, a, size);
            __asm__ volatile("" : : "r"(b) : "memory");
        }
        v[r] = (double)size * (double)n / (seconds() - start) * 1e-9;
    }
    snprintf(name, sizeof name, "memcpy/%s", size_name(size, label));
    report(name, "GB/s", v, REPS);

    struct iovec here = {b, size}, there = {(void *)(uintptr_t)s->address.word, size};
    for (int r = 0; r < REPS; r++) {
        double start = seconds();
        for (long i = 0; i < n; i++)
            if (process_vm_readv(other, &here, 1, &there, 1, 0) != (ssize_t)size) {
                perror("hop: process_vm_readv");
                return;
            }
        v[r] = (double)size * (double)n / (seconds() - start) * 1e-9;
    }
    snprintf(name, sizeof name, "readv/%s", label);
    report(name, "GB/s", v, REPS);
}

static void system_calls(void)
{
    double v[REPS];
    for (int r = 0; r < REPS; r++) {
        double start = seconds();
        for (int i = 0; i < 10000; i++)
            syscall(SYS_getppid);
        v[r] = (seconds() - start) / 10000 * 1e9;
    }
    report("syscall", "ns", v, REPS);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {4 << 10, 16 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20};
    cpu_set_t allowed;
    long n = is_quick(argc, argv) ? 5000 : 20000;
    int found = 0;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int c = 0; c < CPU_SETSIZE && found < 2; c++)
        if (CPU_ISSET(c, &allowed))
            cpus[found++] = c;
    if (found < 2) {
        fprintf(stderr, "hop: needs two CPUs\n");
        return 2;
    }
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) {
        perror("hop: mmap");
        return 3;
    }
    pid_t parent = getpid(), child = fork();
    if (child < 0) {
        perror("hop: fork");
        return 3;
    }
    me = child == 0;
    other = me == 0 ? child : parent;
    if (me == 1)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifdef PR_SET_PTRACER
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
    bind_to(cpus[me]);

    exchange("hop/line", hand_line, n, 0);
    exchange("hop/ring", hand_ring, n, 0);
    exchange("futex", hand_futex, n / 40, FALL_ASLEEP);
    bind_to(cpus[0]);
    exchange("yield", hand_yield, n / 10, 0);
    bind_to(cpus[me]);

    char *a = page_buffer(16 << 20), *b = page_buffer(16 << 20);
    if (me == 1)
        put(&s->address.word, (uint64_t)(uintptr_t)a);
    meet();
    if (me == 0) {
        system_calls();
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            copies(sizes[i], a, b);
        put(&s->both.word, UINT64_MAX);
        waitpid(child, NULL, 0);
    } else {
        while (atomic_load(&s->both.word) != UINT64_MAX)
            usleep(1000);
    }
    return 0;
}
