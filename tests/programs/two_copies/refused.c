// ranks: 2 4
// cflags: -O2
// args: none-reads
// args: none-writes
// args: odd-ranks
// args: odd-ranks late
// args: neither
// The same as datatype/rows.c, where some ranks detect in the middle that the kernel forbids reading another's memory,
// or write to it. What the others may do does not matter, nor whether they have done it all by themselves when the refusal
// comes late.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

static const char *how = "";
static int late;
static void refuse(void);
#define PREPARE() (how = argv[1], late = argc > 2, refuse())
#include "../datatype/rows.c"

// The system call fails, after a while.
static void refuse_late(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    struct timespec while_others_copy = {0, 5000000};
    nanosleep(&while_others_copy, NULL);
#ifdef __x86_64__
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
#else
    ((ucontext_t *)context)->uc_mcontext.regs[0] = -EPERM;
#endif
}

static void refuse(void) {
    int odd = rank % 2, both = !strcmp(how, "neither") || (odd && !strcmp(how, "odd-ranks"));
    int reads = both || !strcmp(how, "none-reads"), writes = both || !strcmp(how, "none-writes");
    const unsigned none = ~0u;
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, reads ? SYS_process_vm_readv : none, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, writes ? SYS_process_vm_writev : none, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, late ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    struct sigaction action = {.sa_sigaction = refuse_late, .sa_flags = SA_SIGINFO};
    CHECK_EQ(sigaction(SIGSYS, &action, NULL), 0);
    CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}
