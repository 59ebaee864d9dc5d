// mpir launch FILE MPIRUN ARGUMENT...   starts mpirun as a parallel debugger does, and prints the table of processes where
//                                       MPIR_Breakpoint stops it; FILE gets what the job prints
// mpir gate FILE MPIRUN ARGUMENT...     the same, and opens the gate of rank 0 while the others are held
// mpir attach PID MPIRUN                prints the table of an mpirun that runs
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "mpir: %s: %s\n", what, strerror(errno));
    exit(99);
}

// The layout that the interface states.
struct row {
    char *host, *executable;
    int pid;
};

static pid_t starter;
static char path[4096];

// Where a symbol of a file is in the memory of a process. The file is known by a part of its path.
static unsigned long address(pid_t process, const char *part, const char *wanted)
{
    char name[4096], line[8192], command[5000], kind;
    unsigned long base = 0, value, found = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", process);
    FILE *maps = fopen(name, "r");
    if (!maps)
        fail(name);
    while (!base && fgets(line, sizeof line, maps))
        if (strstr(line, part) && sscanf(line, "%lx-%*x %*s %*s %*s %*s %4095s", &base, name) != 2)
            fail("a line of maps");
    fclose(maps);
    snprintf(command, sizeof command, "nm -D --defined-only '%s'", name);
    FILE *list = popen(command, "r");
    while (fscanf(list, "%lx %c %255s", &value, &kind, name) == 3)
        if (strcmp(name, wanted) == 0)
            found = value;
    pclose(list);
    if (!found) {
        fprintf(stderr, "mpir: %s has no symbol %s\n", name, wanted);
        exit(99);
    }
    return base + found;
}

static unsigned long symbol(const char *wanted)
{
    return address(starter, path, wanted);
}

static void fetch(unsigned long from, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)from, bytes};
    if (process_vm_readv(starter, &here, 1, &there, 1, 0) != (ssize_t)bytes)
        fail("process_vm_readv");
}

static void fetch_text(char *from, char *to, size_t most)
{
    size_t at = 0;
    do
        fetch((unsigned long)from + at, to + at, 1);
    while (to[at] && ++at < most);
}

static int number(const char *name)
{
    int value;
    fetch(symbol(name), &value, sizeof value);
    return value;
}

static int first;

static void print_table(void)
{
    struct row *table, row;
    int size = number("MPIR_proctable_size");
    fetch(symbol("MPIR_proctable"), &table, sizeof table);
    for (int rank = 0; rank < size; rank++) {
        char host[256], executable[4096], link[64], real[4096];
        fetch((unsigned long)(table + rank), &row, sizeof row);
        fetch_text(row.host, host, sizeof host);
        fetch_text(row.executable, executable, sizeof executable);
        snprintf(link, sizeof link, "/proc/%d/exe", row.pid);
        ssize_t length = readlink(link, real, sizeof real - 1);
        real[length < 0 ? 0 : length] = 0;
        if (strcmp(real, executable) != 0) {
            fprintf(stderr, "mpir: process %d runs %s, and the table says %s\n", row.pid, real, executable);
            exit(99);
        }
        first = rank ? first : row.pid;
        printf("table rank %d pid %d host %s\n", rank, row.pid, host);
    }
}

static void poke(unsigned long where, long word)
{
    if (ptrace(PTRACE_POKEDATA, starter, where, word) != 0)
        fail("PTRACE_POKEDATA");
}

static long peek(unsigned long where)
{
    errno = 0;
    long word = ptrace(PTRACE_PEEKDATA, starter, where, 0);
    if (errno)
        fail("PTRACE_PEEKDATA");
    return word;
}

static long output(const char *file)
{
    // Ranks that are not held would print something now.
    struct stat printed;
    usleep(300000);
    return stat(file, &printed) ? -1 : (long)printed.st_size;
}

static void open_gate(void)
{
    int open = 1;
    unsigned long gate = address(first, "libmpi_abi.so", "MPIR_debug_gate");
    struct iovec here = {&open, sizeof open}, there = {(void *)gate, sizeof open};
    if (process_vm_writev(first, &here, 1, &there, 1, 0) != sizeof open)
        fail("process_vm_writev");
    usleep(300000);
    char line[64];
    FILE *passed = fopen(getenv("HELD_PASSED"), "r");
    while (passed && fgets(line, sizeof line, passed))
        printf("passed: %s", line);
}

static int launch(const char *file, char **command, int opens_gate)
{
    starter = fork();
    if (starter == 0) {
        int out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        dup2(out, 1);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(path, command);
        fail("execv");
    }
    int status, stops = 0;
    waitpid(starter, &status, 0);
    unsigned long being = symbol("MPIR_being_debugged"), stop = symbol("MPIR_Breakpoint");
    poke(being, (peek(being) & ~0xffffffffL) | 1);
    long code = peek(stop), trap = (code & ~0xffL) | 0xcc;
    poke(stop, trap);
    symbol("MPIR_i_am_starter"), symbol("MPIR_partial_attach_ok");
    int signal = 0;
    for (;;) {
        ptrace(PTRACE_CONT, starter, 0, (long)signal);
        waitpid(starter, &status, 0);
        if (WIFEXITED(status)) {
            printf("mpirun ended with %d after %d stops\n", WEXITSTATUS(status), stops);
            return 0;
        }
        if (!WIFSTOPPED(status))
            fail("the starter was killed");
        struct user_regs_struct at;
        signal = WSTOPSIG(status);
        ptrace(PTRACE_GETREGS, starter, 0, &at);
        if (signal != SIGTRAP || at.rip != stop + 1)
            continue;
        signal = 0;
        stops++;
        int state = number("MPIR_debug_state");
        if (state == 1) {
            printf("state 1, %ld bytes of output\n", output(file));
            print_table();
            if (opens_gate)
                open_gate();
        } else {
            char *from, text[1024];
            fetch(symbol("MPIR_debug_abort_string"), &from, sizeof from);
            fetch_text(from, text, sizeof text);
            printf("state %d: %s\n", state, text);
        }
        // One step without the breakpoint.
        at.rip = stop;
        ptrace(PTRACE_SETREGS, starter, 0, &at);
        poke(stop, code);
        ptrace(PTRACE_SINGLESTEP, starter, 0, 0);
        waitpid(starter, &status, 0);
        poke(stop, trap);
    }
}

static int attach(void)
{
    int status;
    if (ptrace(PTRACE_ATTACH, starter, 0, 0) != 0)
        fail("PTRACE_ATTACH");
    waitpid(starter, &status, 0);
    printf("state %d\n", number("MPIR_debug_state"));
    print_table();
    ptrace(PTRACE_DETACH, starter, 0, 0);
    return 0;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 4)
        return 98;
    if (!realpath(argv[3], path))
        fail(argv[3]);
    if (strcmp(argv[1], "attach") != 0)
        return launch(argv[2], argv + 3, strcmp(argv[1], "gate") == 0);
    starter = atoi(argv[2]);
    return attach();
}
