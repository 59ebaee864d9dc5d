// A job that loses up to all but two of its ranks at random moments, and goes on: survive <seed> <milliseconds>.
// They do messages, collective operations and accesses to windows in random order. After each operation all agree whether it
// worked for all; if not, they go on with the ranks that are left. What arrived is checked, and how long an operation and its
// repair took, with and without the time in which a rank was ready to run and had no CPU. `cargo xtask soak` runs it.
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { LONG = 300000, TAG = 5, WORKED = 1, OVER = 2, KINDS = 12, ROUNDS = 20, TURNS = 1 << 16 };

static int rank, size;
static unsigned char *in, *out;
static uint64_t state, seed;

static unsigned below(unsigned end) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 16) % end;
}

static void fail(const char *what, long value) {
    fprintf(stderr, "rank %d: %s (%ld)\n", rank, what, value);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void allow(int code) {
    if (code != MPI_SUCCESS && code != MPIX_ERR_PROC_FAILED && code != MPIX_ERR_REVOKED && code != MPIX_ERR_PROC_FAILED_PENDING) {
        char text[MPI_MAX_ERROR_STRING + 1] = "";
        int length;
        MPI_Error_string(code, text, &length);
        fprintf(stderr, "rank %d: %s\n", rank, text);
        fail("an error of another kind", code);
    }
}

static void die(int signal) {
    (void)signal;
    kill(getpid(), SIGKILL);
}

// The same on all ranks: who dies, and when.
static void choose_fate(unsigned milliseconds) {
    int order[64], victims = 1 + (int)below((unsigned)size - 2);
    for (int i = 0; i < size; i++) order[i] = i;
    for (int i = size - 1; i > 0; i--) {
        int other = (int)below((unsigned)i + 1), kept = order[i];
        order[i] = order[other], order[other] = kept;
    }
    for (int i = 0; i < victims; i++) {
        long at = 1 + below(milliseconds);
        // Some die at the same time.
        if (below(4) == 0) at = milliseconds / 2;
        if (order[i] != rank) continue;
        struct itimerval timer = {{0, 0}, {at / 1000, at % 1000 * 1000}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &timer, NULL);
    }
}

static int check(int code, int from, size_t bytes) {
    if (code != MPI_SUCCESS) return code;
    for (size_t i = 0; i < bytes; i++)
        if (in[i] != (unsigned char)(from + 1)) fail("wrong data at byte", (long)i);
    return code;
}

// The same on all ranks for a number.
static unsigned chosen(unsigned number, unsigned end) {
    uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u;
    mixed ^= mixed >> 31, mixed *= 0x94d049bb133111ebu, mixed ^= mixed >> 29;
    return (unsigned)(mixed >> 16) % end;
}

// Each adds to a counter of each, and puts its number at its right neighbour.
static int use_window(MPI_Comm comm, int own, int n) {
    int *memory = NULL, one = 1, code;
    MPI_Win win;
    code = MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, comm, &memory, &win);
    if (code != MPI_SUCCESS) return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memory[0] = 0, memory[1] = -1;
    code = MPI_Win_fence(0, win);
    if (code == MPI_SUCCESS) code = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (code == MPI_SUCCESS) code = MPI_Win_lock_all(0, win);
    if (code == MPI_SUCCESS) {
        for (int round = 0; code == MPI_SUCCESS && round < ROUNDS; round++)
            for (int i = 0; code == MPI_SUCCESS && i < n; i++)
                code = MPI_Accumulate(&one, 1, MPI_INT, i, 0, 1, MPI_INT, MPI_SUM, win);
        if (code == MPI_SUCCESS) code = MPI_Put(&own, 1, MPI_INT, (own + 1) % n, 1, 1, MPI_INT, win);
        int closed = MPI_Win_unlock_all(win);
        if (code == MPI_SUCCESS) code = closed;
    }
    // An exclusive lock, which somebody may die with.
    if (code == MPI_SUCCESS) code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    if (code == MPI_SUCCESS) code = MPI_Win_unlock(0, win);
    if (code == MPI_SUCCESS) code = MPI_Barrier(comm);
    if (code == MPI_SUCCESS) code = MPI_Win_lock(MPI_LOCK_SHARED, own, 0, win);
    if (code == MPI_SUCCESS) {
        if (memory[0] != ROUNDS * n) fail("wrong sum in a window", memory[0]);
        if (memory[1] != (own + n - 1) % n) fail("wrong data in a window", memory[1]);
        code = MPI_Win_unlock(own, win);
    }
    if (code != MPI_SUCCESS) MPIX_Win_revoke(win);
    int freed = MPI_Win_free(&win);
    return code != MPI_SUCCESS ? code : freed;
}

static int use_copy(MPI_Comm comm, int n) {
    int one = 1, sum = 0;
    MPI_Comm copy;
    int code = MPI_Comm_dup(comm, &copy);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
    if (code == MPI_SUCCESS && sum != n) fail("wrong sum", sum);
    if (code != MPI_SUCCESS) MPIX_Comm_revoke(copy);
    int freed = MPI_Comm_free(&copy);
    return code != MPI_SUCCESS ? code : freed;
}

static int in_background(MPI_Comm comm, int own, int n, int root) {
    int one = 1, sum = 0;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (own == root) memset(in, root + 1, LONG);
    int code = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    if (code == MPI_SUCCESS) code = MPI_Ibcast(in, LONG, MPI_BYTE, root, comm, &requests[1]);
    if (code == MPI_SUCCESS) code = MPI_Ibarrier(comm, &requests[2]);
    if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
    for (int i = 0; i < 3; i++) {
        int waited = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        allow(waited);
        if (waited != MPI_SUCCESS) MPIX_Comm_revoke(comm);
        if (code == MPI_SUCCESS) code = waited;
    }
    if (code == MPI_SUCCESS && sum != n) fail("wrong sum", sum);
    return check(code, root, LONG);
}

static int exchange_all(MPI_Comm comm, int n) {
    int block = LONG / n;
    int code = MPI_Alltoall(out, block, MPI_BYTE, in, block, MPI_BYTE, comm);
    for (int i = 0; code == MPI_SUCCESS && i < block * n; i++)
        if (in[i] != (unsigned char)(i / block + 1)) fail("wrong data at byte", i);
    return code;
}

// Seconds for which this process was ready to run and had no CPU, as the kernel counts them.
static double without_cpu(void) {
    unsigned long long run, waited;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (!file) return 0;
    int found = fscanf(file, "%llu %llu", &run, &waited);
    fclose(file);
    return found == 2 ? (double)waited * 1e-9 : 0;
}

// How long each operation took with its repair, and for how much of that this rank had no CPU.
static double took[TURNS], waited[TURNS];
static int turns;

static void note_turn(void) {
    static double begin, before;
    double now = MPI_Wtime(), waiting = without_cpu();
    if (begin > 0 && turns < TURNS) took[turns] = now - begin, waited[turns++] = waiting - before;
    begin = now, before = waiting;
}

// One operation, which each rank of the communicator calls with the same number.
static int operate(MPI_Comm comm, unsigned number) {
    int own, n, code, sum = 0, one = 1;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &n);
    int right = (own + 1) % n, left = (own + n - 1) % n, root = (int)(number % (unsigned)n);
    size_t length = chosen(number + 1000, 3) ? 100 : LONG;
    MPI_Request requests[2];
    memset(out, own + 1, LONG);
    memset(in, 0, LONG);
    switch (chosen(number, KINDS)) {
    case 0:
        code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (code == MPI_SUCCESS && sum != n) fail("wrong sum", sum);
        return code;
    case 1: return MPI_Barrier(comm);
    case 2:
        code = MPI_Sendrecv(out, (int)length, MPI_BYTE, right, TAG, in, (int)length, MPI_BYTE, left, TAG, comm, MPI_STATUS_IGNORE);
        return check(code, left, length);
    case 3:
        if (own == root) memset(in, root + 1, LONG);
        return check(MPI_Bcast(in, (int)length, MPI_BYTE, root, comm), root, length);
    case 4:
        code = MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, comm);
        if (code == MPI_SUCCESS && own == root && sum != n) fail("wrong sum", sum);
        return code;
    case 5:
        code = MPI_Irecv(in, (int)length, MPI_BYTE, MPI_ANY_SOURCE, TAG, comm, &requests[0]);
        if (code != MPI_SUCCESS) return code;
        code = MPI_Send(out, (int)length, MPI_BYTE, right, TAG, comm);
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
        int waited = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (waited == MPIX_ERR_PROC_FAILED_PENDING) {
            MPIX_Comm_revoke(comm);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        return code != MPI_SUCCESS ? code : check(waited, left, length);
    case 6:
    case 7: return use_window(comm, own, n);
    case 8: return use_copy(comm, n);
    case 9: return in_background(comm, own, n, root);
    case 10: return exchange_all(comm, n);
    default:
        code = MPI_Isend(out, (int)length, MPI_BYTE, right, TAG, comm, &requests[0]);
        if (code != MPI_SUCCESS) return code;
        code = MPI_Irecv(in, (int)length, MPI_BYTE, left, TAG, comm, &requests[1]);
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm), requests[1] = MPI_REQUEST_NULL;
        int sent = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (sent != MPI_SUCCESS) MPIX_Comm_revoke(comm);
        int got = MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || sent != MPI_SUCCESS) return code != MPI_SUCCESS ? code : sent;
        return check(got, left, length);
    }
}

int main(int argc, char **argv) {
    MPI_Comm comm, next;
    unsigned number = 0, milliseconds = argc > 2 ? (unsigned)atoi(argv[2]) : 200, repairs = 0;
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    state = 88172645463325252u + seed * 0x9e3779b97f4a7c15u;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    in = malloc(LONG), out = malloc(LONG);
    for (int i = 0; i < 10; i++) below(2);
    // The start of a rank takes longer than its life.
    MPI_Barrier(MPI_COMM_WORLD);
    choose_fate(milliseconds);
    double until = MPI_Wtime() + milliseconds / 1000.0 + 0.05, longest = 0, with_cpu = 0;
    comm = MPI_COMM_WORLD;
    for (;;) {
        note_turn();
        int code = operate(comm, number), flag = 0;
        allow(code);
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
        flag = (code == MPI_SUCCESS ? WORKED : 0) | (MPI_Wtime() > until ? OVER : 0);
        int agreed = MPIX_Comm_agree(comm, &flag);
        allow(agreed);
        if (agreed == MPI_SUCCESS && flag & WORKED) {
            number++;
            if (flag & OVER) break;
            continue;
        }
        // The numbers are the same: all have agreed on each operation.
        code = MPIX_Comm_shrink(comm, &next);
        if (code != MPI_SUCCESS) fail("cannot shrink", code);
        if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
        comm = next, repairs++;
    }
    int n, own;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &own);
    note_turn();
    // All who are left have had the same operations. A rank may have waited for another one that had no CPU.
    MPI_Allreduce(MPI_IN_PLACE, took, turns, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, waited, turns, MPI_DOUBLE, MPI_MAX, comm);
    for (int i = 0; i < turns; i++) {
        if (took[i] > longest) longest = took[i];
        if (took[i] - waited[i] > with_cpu) with_cpu = took[i] - waited[i];
    }
    if (own == 0)
        printf("survived: %d of %d ranks, %u operations, %u repairs, longest %.2f s, %.2f s with a CPU\n", n, size, number,
               repairs, longest, with_cpu);
    MPI_Finalize();
    return 0;
}
