// A job that uses all that ranks share, and goes on when one of them dies anywhere: crash_points <rank> <file> [<way>].
// Each operation is followed by an agreement on whether it worked for all; if not, the ranks that are left repeat it. When all
// operations are over and nobody has died, that rank kills itself, and the others do all of them again. With a way, it kills itself
// in that way first, or all do what is named so, and the operations are fewer. Each that is left says so at its end, and how long the longest operation with its repair took, with and without the time in which a rank was ready to
// run and had no CPU. `cargo xtask crash-points` runs it.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 20, LONG = 200000, TAG = 5, WORKED = 1, TURNS = 4096, BURST = 150, STEPS = 8, WORDS = 40 };

static int rank, size;
static unsigned char *in, *out;
static const char *path;
static const char *now = "MPI_Init", *way = "";
static int last;

static void fail(const char *what, long value) {
    fprintf(stderr, "rank %d: %s: %s (%ld)\n", rank, now, what, value);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void allow(int code) {
    if (code != MPI_SUCCESS && code != MPIX_ERR_PROC_FAILED && code != MPIX_ERR_REVOKED && code != MPIX_ERR_PROC_FAILED_PENDING) {
        char text[MPI_MAX_ERROR_STRING + 1] = "";
        int length;
        MPI_Error_string(code, text, &length);
        fprintf(stderr, "rank %d: %s: %s\n", rank, now, text);
        fail("an error of another kind", code);
    }
}

// The next call only if all before it have worked.
#define TRY(call) \
    do \
        if (code == MPI_SUCCESS) code = (call); \
    while (0)

static void check(int code, const unsigned char *bytes, int from, size_t count) {
    for (size_t i = 0; code == MPI_SUCCESS && i < count; i++)
        if (bytes[i] != (unsigned char)(from + 1)) fail("wrong data at byte", (long)i);
}

static void same(int code, long found, long wanted) {
    if (code == MPI_SUCCESS && found != wanted) {
        fprintf(stderr, "rank %d: wanted %ld\n", rank, wanted);
        fail("wrong value", found);
    }
}

// Completes all requests; those that were not started are null. Whoever gets an error ends the waiting of the others.
static int complete(MPI_Comm comm, int code, int count, MPI_Request *requests) {
    for (int i = 0; i < count; i++) {
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
        int waited = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        allow(waited);
        if (waited == MPIX_ERR_PROC_FAILED_PENDING) {
            MPIX_Comm_revoke(comm);
            allow(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        }
        if (code == MPI_SUCCESS) code = waited;
    }
    if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
    return code;
}

static void none(int count, MPI_Request *requests) {
    for (int i = 0; i < count; i++) requests[i] = MPI_REQUEST_NULL;
}

static int short_messages(MPI_Comm comm, int own, int n) {
    int right = (own + 1) % n, left = (own + n - 1) % n, code = MPI_SUCCESS;
    MPI_Request requests[2];
    none(2, requests);
    for (int bytes = 8; bytes < 5000; bytes *= 5) {
        TRY(MPI_Sendrecv(out, bytes, MPI_BYTE, right, TAG, in, bytes, MPI_BYTE, left, TAG, comm, MPI_STATUS_IGNORE));
        check(code, in, left, (size_t)bytes);
    }
    TRY(MPI_Irecv(in, 100, MPI_BYTE, MPI_ANY_SOURCE, TAG, comm, &requests[0]));
    TRY(MPI_Issend(out, 100, MPI_BYTE, right, TAG, comm, &requests[1]));
    code = complete(comm, code, 2, requests);
    check(code, in, left, 100);
    return code;
}

// More than a ring takes, for a rank that is late.
static int burst(MPI_Comm comm, int own, int n) {
    static MPI_Request requests[2 * BURST];
    int right = (own + 1) % n, left = (own + n - 1) % n, code = MPI_SUCCESS;
    none(2 * BURST, requests);
    for (int i = 0; i < BURST; i++) TRY(MPI_Isend(out, 900, MPI_BYTE, right, i, comm, &requests[i]));
    usleep(own == 1 ? 3000 : 0);
    for (int i = 0; i < BURST; i++) TRY(MPI_Irecv(in + 900 * i, 900, MPI_BYTE, left, i, comm, &requests[BURST + i]));
    code = complete(comm, code, 2 * BURST, requests);
    check(code, in, left, 900 * BURST);
    return code;
}

static int long_messages(MPI_Comm comm, int own, int n) {
    int right = (own + 1) % n, left = (own + n - 1) % n, code = MPI_SUCCESS;
    MPI_Request requests[4];
    MPI_Datatype pieces;
    MPI_Type_vector(LONG / 200, 100, 200, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    none(4, requests);
    TRY(MPI_Irecv(in, LONG, MPI_BYTE, left, TAG, comm, &requests[0]));
    TRY(MPI_Isend(out, LONG, MPI_BYTE, right, TAG, comm, &requests[1]));
    TRY(MPI_Isend(out, 1, pieces, right, TAG, comm, &requests[2]));
    // This one arrives before its receive.
    usleep(own == 0 ? 1000 : 0);
    TRY(MPI_Irecv(in + LONG, LONG / 2, MPI_BYTE, left, TAG, comm, &requests[3]));
    code = complete(comm, code, 4, requests);
    check(code, in, left, LONG + LONG / 2);
    none(2, requests);
    memset(in, 0, MOST);
    TRY(MPI_Irecv(in, 1, pieces, left, TAG, comm, &requests[0]));
    TRY(MPI_Ssend_init(out, LONG / 2, MPI_BYTE, right, TAG, comm, &requests[1]));
    TRY(MPI_Start(&requests[1]));
    MPI_Request sent = requests[1];
    code = complete(comm, code, 2, requests);
    if (sent != MPI_REQUEST_NULL) MPI_Request_free(&requests[1]);
    for (int i = 0; i < LONG / 200; i++) check(code, in + 200 * i, left, 100);
    none(2, requests);
    TRY(MPI_Irecv(in, MOST, MPI_BYTE, left, TAG, comm, &requests[0]));
    TRY(MPI_Isend(out, MOST, MPI_BYTE, right, TAG, comm, &requests[1]));
    code = complete(comm, code, 2, requests);
    check(code, in, left, MOST);
    MPI_Type_free(&pieces);
    return code;
}

static int probes(MPI_Comm comm, int own, int n) {
    int right = (own + 1) % n, left = (own + n - 1) % n, code = MPI_SUCCESS, flag = 0, count;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message;
    MPI_Status status;
    for (int bytes = 10; bytes <= LONG; bytes += LONG - 10) {
        TRY(MPI_Isend(out, bytes, MPI_BYTE, right, TAG, comm, &request));
        TRY(MPI_Mprobe(left, TAG, comm, &message, &status));
        if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &count), same(code, count, bytes);
        TRY(MPI_Mrecv(in, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE));
        code = complete(comm, code, 1, &request);
        check(code, in, left, (size_t)bytes);
        TRY(MPI_Isend(out, bytes, MPI_BYTE, right, TAG, comm, &request));
        for (flag = 0; code == MPI_SUCCESS && !flag;) code = MPI_Iprobe(left, TAG, comm, &flag, &status);
        TRY(MPI_Recv(in, bytes, MPI_BYTE, left, TAG, comm, MPI_STATUS_IGNORE));
        code = complete(comm, code, 1, &request);
        check(code, in, left, (size_t)bytes);
    }
    return code;
}

// All wait for one that computes.
static int sleepers(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, one = 1, sum;
    if (own == n - 1) {
        usleep(5000);
        for (int i = 0; i < n - 1; i++) TRY(MPI_Send(out, 10, MPI_BYTE, i, TAG, comm));
    } else {
        TRY(MPI_Recv(in, 10, MPI_BYTE, n - 1, TAG, comm, MPI_STATUS_IGNORE));
        check(code, in, n - 1, 10);
    }
    usleep(own == 0 ? 5000 : 0);
    TRY(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    same(code, sum, n);
    // One is late, and the others are far ahead of it.
    usleep(own == n - 1 ? 3000 : 0);
    for (int i = 0; i < 100; i++) TRY(MPI_Bcast(own == 0 ? out : in, 64, MPI_BYTE, 0, comm));
    if (own != 0) check(code, in, 0, 64);
    return code;
}

static int short_collectives(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, one = own + 1, sum = 0, all[8], each[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    TRY(MPI_Barrier(comm));
    for (int root = 0; root < n; root++) {
        TRY(MPI_Bcast(own == root ? out : in, 64, MPI_BYTE, root, comm));
        if (own != root) check(code, in, root, 64);
        TRY(MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, comm));
        if (own == root) same(code, sum, n * (n + 1) / 2);
        TRY(MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, root, comm));
        if (own == root) same(code, all[n - 1], n);
        TRY(MPI_Scatter(each, 1, MPI_INT, &sum, 1, MPI_INT, root, comm));
        same(code, sum, 1);
    }
    TRY(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    same(code, sum, n * (n + 1) / 2);
    TRY(MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm));
    same(code, all[n - 1], n);
    TRY(MPI_Alltoall(each, 1, MPI_INT, all, 1, MPI_INT, comm));
    same(code, all[n - 1], 1);
    TRY(MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    same(code, sum, (own + 1) * (own + 2) / 2);
    TRY(MPI_Exscan(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    if (own > 0) same(code, sum, own * (own + 1) / 2);
    TRY(MPI_Reduce_scatter_block(each, &sum, 1, MPI_INT, MPI_SUM, comm));
    same(code, sum, n);
    return code;
}

static int long_collectives(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, *values = (int *)out, *sums = (int *)in;
    for (int bytes = 8000; bytes <= MOST / 4; bytes = bytes < 40000 ? 40000 : bytes < 262144 ? 262144 : MOST) {
        int root = bytes % 3 % n, count = bytes / 4;
        memset(out, own + 1, (size_t)bytes);
        TRY(MPI_Bcast(own == root ? out : in, bytes, MPI_BYTE, root, comm));
        if (own != root) check(code, in, root, (size_t)bytes);
        TRY(MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm));
        for (int i = 0; i < n; i++) check(code, in + i * bytes, i, (size_t)bytes);
        TRY(MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, comm));
        if (own == root) check(code, in + (n - 1) * bytes, n - 1, (size_t)bytes);
        TRY(MPI_Scatter(out, bytes / n, MPI_BYTE, in, bytes / n, MPI_BYTE, root, comm));
        check(code, in, root, (size_t)(bytes / n));
        TRY(MPI_Alltoall(out, bytes / n, MPI_BYTE, in, bytes / n, MPI_BYTE, comm));
        for (int i = 0; i < n; i++) check(code, in + i * (bytes / n), i, (size_t)(bytes / n));
        for (int i = 0; i < count; i++) values[i] = i + own;
        TRY(MPI_Allreduce(values, sums, count, MPI_INT, MPI_SUM, comm));
        for (int i = 0; i < count; i++) same(code, sums[i], n * i + n * (n - 1) / 2);
        TRY(MPI_Reduce(values, sums, count, MPI_INT, MPI_SUM, root, comm));
        for (int i = 0; own == root && i < count; i++) same(code, sums[i], n * i + n * (n - 1) / 2);
        TRY(MPI_Reduce_scatter_block(values, sums, count / n, MPI_INT, MPI_SUM, comm));
        for (int i = 0; i < count / n; i++) same(code, sums[i], n * (i + own * (count / n)) + n * (n - 1) / 2);
        TRY(MPI_Scan(values, sums, count, MPI_INT, MPI_SUM, comm));
        same(code, sums[count - 1], (own + 1) * (count - 1) + own * (own + 1) / 2);
    }
    memset(out, own + 1, MOST);
    return code;
}

static int uneven_collectives(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, counts[8], at[8], equal[8], own_at[8];
    MPI_Datatype types[8];
    for (int unit = 10; unit <= 20000; unit *= 2000) {
        for (int i = 0, next = 0; i < n; next += counts[i++]) counts[i] = unit * (i + 1), at[i] = next;
        for (int i = 0; i < n; i++) types[i] = MPI_BYTE, equal[i] = unit * (own + 1), own_at[i] = 0;
        TRY(MPI_Allgatherv(out, counts[own], MPI_BYTE, in, counts, at, MPI_BYTE, comm));
        for (int i = 0; i < n; i++) check(code, in + at[i], i, (size_t)counts[i]);
        TRY(MPI_Gatherv(out, counts[own], MPI_BYTE, in, counts, at, MPI_BYTE, n - 1, comm));
        if (own == n - 1) check(code, in, 0, (size_t)counts[0]);
        TRY(MPI_Scatterv(out, counts, at, MPI_BYTE, in, counts[own], MPI_BYTE, 0, comm));
        check(code, in, 0, (size_t)counts[own]);
        TRY(MPI_Alltoallv(out, equal, own_at, MPI_BYTE, in, counts, at, MPI_BYTE, comm));
        for (int i = 0; i < n; i++) check(code, in + at[i], i, (size_t)counts[i]);
        TRY(MPI_Alltoallw(out, equal, own_at, types, in, counts, at, types, comm));
        for (int i = 0; i < n; i++) check(code, in + at[i], i, (size_t)counts[i]);
    }
    return code;
}

static int background(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, one = 1, sum = 0, again = 0, all[8];
    MPI_Request requests[5];
    none(5, requests);
    TRY(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]));
    TRY(MPI_Ibcast(own == 0 ? out : in, LONG, MPI_BYTE, 0, comm, &requests[1]));
    TRY(MPI_Iallgather(&one, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[2]));
    TRY(MPI_Ialltoall(out, LONG / n, MPI_BYTE, in + LONG, LONG / n, MPI_BYTE, comm, &requests[3]));
    TRY(MPI_Ibarrier(comm, &requests[4]));
    code = complete(comm, code, 5, requests);
    same(code, sum, n);
    if (own != 0) check(code, in, 0, LONG);
    for (int i = 0; i < n; i++) check(code, in + LONG + i * (LONG / n), i, (size_t)(LONG / n));
    none(1, requests);
    TRY(MPI_Allreduce_init(&one, &again, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]));
    MPI_Request persistent = requests[0];
    for (int i = 0; i < 3; i++) {
        TRY(MPI_Start(&requests[0]));
        code = complete(comm, code, 1, requests);
        same(code, again, n);
    }
    if (persistent != MPI_REQUEST_NULL) MPI_Request_free(&requests[0]);
    return code;
}

// One use of a communicator that was made, and its end.
static int use_and_free(MPI_Comm comm, int code, MPI_Comm *made) {
    int one = 1, sum, members;
    if (code != MPI_SUCCESS || *made == MPI_COMM_NULL) return code;
    MPI_Comm_size(*made, &members);
    TRY(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *made));
    same(code, sum, members);
    if (code != MPI_SUCCESS) MPIX_Comm_revoke(*made), MPIX_Comm_revoke(comm);
    int freed = MPI_Comm_free(made);
    return code != MPI_SUCCESS ? code : freed;
}

static int communicators(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, zero = 0, dims[1] = {n}, twice[2] = {own, own}, got[2];
    MPI_Comm made = MPI_COMM_NULL, part = MPI_COMM_NULL;
    MPI_Group all, some;
    MPI_Request request = MPI_REQUEST_NULL;
    TRY(MPI_Comm_dup(comm, &made));
    code = use_and_free(comm, code, &made);
    TRY(MPI_Comm_split(comm, own % 2, 0, &made));
    code = use_and_free(comm, code, &made);
    TRY(MPI_Comm_idup(comm, &made, &request));
    code = complete(comm, code, 1, &request);
    code = use_and_free(comm, code, &made);
    MPI_Comm_group(comm, &all);
    MPI_Group_excl(all, 1, &zero, &some);
    made = MPI_COMM_NULL;
    if (own > 0) TRY(MPI_Comm_create_group(comm, some, 3, &made));
    if (own > 0) code = use_and_free(comm, code, &made);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    made = MPI_COMM_NULL;
    TRY(MPI_Cart_create(comm, 1, dims, dims, 0, &made));
    if (code == MPI_SUCCESS) {
        TRY(MPI_Neighbor_alltoall(twice, 1, MPI_INT, got, 1, MPI_INT, made));
        same(code, got[0], (own + n - 1) % n);
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(made);
        MPI_Comm_free(&made);
    }
    TRY(MPI_Comm_split(comm, own == 0, 0, &part));
    if (code == MPI_SUCCESS) {
        MPI_Comm between = MPI_COMM_NULL, merged = MPI_COMM_NULL;
        code = MPI_Intercomm_create(part, 0, comm, own == 0 ? 1 : 0, TAG, &between);
        if (code == MPI_SUCCESS) {
            code = MPI_Barrier(between);
            TRY(MPI_Intercomm_merge(between, own == 0, &merged));
            code = use_and_free(comm, code, &merged);
            if (code != MPI_SUCCESS) MPIX_Comm_revoke(between);
            MPI_Comm_free(&between);
        }
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(part), MPIX_Comm_revoke(comm);
        MPI_Comm_free(&part);
    }
    return code;
}

#include "crash_windows.h"

static int partitioned(MPI_Comm comm, int own, int n) {
    enum { PARTS = 4, PART = 5000 };
    int right = (own + 1) % n, left = (own + n - 1) % n, code = MPI_SUCCESS;
    MPI_Request requests[2], kept[2];
    none(2, requests);
    TRY(MPI_Psend_init(out, PARTS, PART, MPI_BYTE, right, TAG, comm, MPI_INFO_NULL, &requests[0]));
    TRY(MPI_Precv_init(in, PARTS / 2, 2 * PART, MPI_BYTE, left, TAG, comm, MPI_INFO_NULL, &requests[1]));
    memcpy(kept, requests, sizeof kept);
    for (int round = 0; round < 2; round++) {
        int started = code;
        if (started == MPI_SUCCESS) started = MPI_Startall(2, requests);
        for (int i = PARTS - 1; started == MPI_SUCCESS && i >= 0; i--) TRY(MPI_Pready(i, requests[0]));
        if (code == MPI_SUCCESS) code = started;
        if (started != MPI_SUCCESS) break;
        code = complete(comm, code, 2, requests);
        check(code, in, left, PARTS * PART);
    }
    for (int i = 0; i < 2; i++)
        if (kept[i] != MPI_REQUEST_NULL) MPI_Request_free(&kept[i]);
    return code;
}

// What a program does after failures, also when nobody has died.
static int repair(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, flag = ~0, known, revoked = 0, members = 0;
    MPI_Comm copy, left = MPI_COMM_NULL;
    MPI_Group failed;
    MPI_Request request = MPI_REQUEST_NULL;
    code = MPI_Comm_dup(comm, &copy);
    if (code != MPI_SUCCESS) return code;
    TRY(MPIX_Comm_iagree(copy, &flag, &request));
    code = complete(copy, code, 1, &request);
    MPIX_Comm_get_failed(copy, &failed);
    MPI_Group_free(&failed);
    MPIX_Comm_ack_failed(copy, n, &known);
    if (own == n - 1) MPIX_Comm_revoke(copy);
    while (code == MPI_SUCCESS && !revoked) MPIX_Comm_is_revoked(copy, &revoked), MPIX_Comm_get_failed(comm, &failed),
        MPI_Group_size(failed, &known), MPI_Group_free(&failed), revoked |= known > 0;
    int shrunk = MPIX_Comm_shrink(copy, &left);
    if (shrunk != MPI_SUCCESS) fail("cannot shrink", shrunk);
    MPI_Comm_size(left, &members);
    if (code == MPI_SUCCESS && members != n) code = MPIX_ERR_PROC_FAILED;
    code = use_and_free(comm, code, &left);
    if (left != MPI_COMM_NULL) MPIX_Comm_revoke(left), MPI_Comm_free(&left);
    int freed = MPI_Comm_free(&copy);
    return code != MPI_SUCCESS ? code : freed;
}

static void die(void) {
    kill(getpid(), SIGKILL);
}

// A rank dies with a lock, exclusive or shared, for which others wait.
static int dies_with_lock(MPI_Comm comm, int own, int n) {
    int *memory, code, closed;
    MPI_Win win;
    (void)n;
    code = MPI_Win_allocate(WINDOW, 1, MPI_INFO_NULL, comm, &memory, &win);
    if (code != MPI_SUCCESS) return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == last) TRY(MPI_Win_lock(strcmp(way, "exclusive") ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win));
    TRY(MPI_Barrier(comm));
    if (rank == last) usleep(3000), die();
    for (int i = 0; i < 2; i++) {
        if (code == MPI_SUCCESS) code = MPI_Win_lock(own % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        TRY(MPI_Put(&own, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        closed = code == MPI_SUCCESS ? MPI_Win_unlock(0, win) : code;
        // The first one that meets an exclusive lock of the dead does not get it.
        code = closed == MPIX_ERR_PROC_FAILED && i == 0 ? MPI_SUCCESS : closed;
    }
    return free_window(comm, code, &win);
}

// A rank dies whose messages are announced, and to which others send.
static int dies_with_messages(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS;
    MPI_Request requests[2];
    none(2, requests);
    for (int i = 0; i < n; i++)
        if (i != own && rank == last) TRY(MPI_Isend(out, LONG, MPI_BYTE, i, TAG, comm, &requests[0]));
    if (rank == last) usleep(3000), die();
    usleep(1000);
    for (int i = 0; i < n; i++) {
        if (i == own) continue;
        TRY(MPI_Irecv(in, LONG, MPI_BYTE, i, TAG, comm, &requests[0]));
        TRY(MPI_Isend(out, LONG, MPI_BYTE, i, TAG, comm, &requests[1]));
        MPI_Cancel(&requests[0]);
        if (requests[1] != MPI_REQUEST_NULL) MPI_Cancel(&requests[1]);
        code = complete(comm, code, 2, requests);
    }
    return MPIX_ERR_PROC_FAILED;
}

// Others have waited long for a rank when it dies. Two of them wait for each other, too, so that mpirun asks them.
static int dies_late(MPI_Comm comm, int own, int n) {
    int code = MPI_SUCCESS, from = 0;
    MPI_Comm_rank(comm, &own);
    (void)n;
    if (rank == last) usleep(900000), die();
    for (; code == MPI_SUCCESS && from < n; from++)
        if (own % 2 && from != own) code = MPI_Recv(in, 10, MPI_BYTE, from, TAG, comm, MPI_STATUS_IGNORE);
    TRY(MPI_Barrier(comm));
    return code;
}

// More than a rank that does not receive wants to store.
static int flood(MPI_Comm comm, int own, int n) {
    enum { MESSAGES = 1500, BYTES = 4000 };
    int code = MPI_SUCCESS;
    if (own == n - 1) usleep(20000);
    if (own == 0) {
        for (int i = 0; i < MESSAGES; i++) TRY(MPI_Send(out, BYTES, MPI_BYTE, n - 1, TAG, comm));
        TRY(MPI_Send(out, BYTES, MPI_BYTE, n - 1, TAG + 1, comm));
    }
    if (own == n - 1) {
        TRY(MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG + 1, comm, MPI_STATUS_IGNORE));
        for (int i = 0; i < MESSAGES; i++) TRY(MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        check(code, in, 0, BYTES);
    }
    return code;
}

static const char *self;

// Another job, and messages to it.
static int spawn(MPI_Comm comm, int own, int n) {
    char word[] = "child", *args[] = {word, NULL};
    static int attempts;
    // A spawned process may die whenever it comes by a place.
    if (++attempts > 2) return MPI_SUCCESS;
    MPI_Comm child = MPI_COMM_NULL;
    int code = MPI_Comm_spawn(self, args, 1, MPI_INFO_NULL, 0, comm, &child, MPI_ERRCODES_IGNORE);
    if (code != MPI_SUCCESS) {
        // The new process has died before it was connected.
        int class;
        MPI_Error_class(code, &class);
        return class == MPI_ERR_SPAWN ? MPIX_ERR_PROC_FAILED : code;
    }
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    if (own == n - 1) {
        TRY(MPI_Sendrecv(out, 100, MPI_BYTE, 0, TAG, in, 100, MPI_BYTE, 0, TAG, child, MPI_STATUS_IGNORE));
        check(code, in, own, 100);
        TRY(MPI_Sendrecv(out, LONG, MPI_BYTE, 0, TAG, in, LONG, MPI_BYTE, 0, TAG, child, MPI_STATUS_IGNORE));
        check(code, in, own, LONG);
    }
    TRY(MPI_Barrier(child));
    if (code != MPI_SUCCESS) MPIX_Comm_revoke(child), MPIX_Comm_revoke(comm);
    int freed = MPI_Comm_disconnect(&child);
    return code != MPI_SUCCESS ? code : freed;
}

// The spawned process sends everything back.
static int be_child(MPI_Comm parent) {
    MPI_Status status;
    int code = MPI_SUCCESS, bytes = 0;
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        TRY(MPI_Recv(in, LONG, MPI_BYTE, MPI_ANY_SOURCE, TAG, parent, &status));
        if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &bytes);
        TRY(MPI_Send(in, bytes, MPI_BYTE, status.MPI_SOURCE, TAG, parent));
    }
    TRY(MPI_Barrier(parent));
    allow(code);
    if (code != MPI_SUCCESS) MPIX_Comm_revoke(parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

static const struct {
    const char *way;
    int (*perform)(MPI_Comm comm, int own, int n);
} ways[] = {
    {"exclusive", dies_with_lock},
    {"shared", dies_with_lock},
    {"messages", dies_with_messages},
    {"late", dies_late},
    {"flood", flood},
    {"spawn", spawn},
};

// What is done in the way that was asked for, as long as nobody has died.
static int in_a_way(MPI_Comm comm, int own, int n) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(ways[i].way, way) && (n == size || ways[i].perform == spawn)) return ways[i].perform(comm, own, n);
    return MPI_SUCCESS;
}

static const struct {
    const char *name;
    int (*perform)(MPI_Comm comm, int own, int n);
} operations[] = {
    {"in a way", in_a_way},
    {"short messages", short_messages},
    {"burst", burst},
    {"long messages", long_messages},
    {"probes", probes},
    {"sleepers", sleepers},
    {"short collectives", short_collectives},
    {"long collectives", long_collectives},
    {"uneven collectives", uneven_collectives},
    {"background", background},
    {"communicators", communicators},
    {"allocated window", allocated_window},
    {"created window", created_window},
    {"dynamic window", dynamic_window},
    {"shared window", shared_window},
    {"file", file},
    {"partitioned", partitioned},
    {"repair", repair},
};
enum { OPERATIONS = sizeof operations / sizeof *operations, ALLOCATED = 11 };

// Seconds for which this process was ready to run and had no CPU, as the kernel counts them.
static double without_cpu(void) {
    unsigned long long run, waited;
    FILE *schedule = fopen("/proc/self/schedstat", "r");
    if (!schedule) return 0;
    int found = fscanf(schedule, "%llu %llu", &run, &waited);
    fclose(schedule);
    return found == 2 ? (double)waited * 1e-9 : 0;
}

// How long each turn took with its repair, for how much of that this rank had no CPU, and what it did.
static double took[TURNS], waited[TURNS], most_took[TURNS], most_waited[TURNS];
static int done[TURNS], turns;

static void note_turn(int operation) {
    static double begin, before;
    double end = MPI_Wtime(), waiting = without_cpu();
    if (begin > 0 && turns < TURNS) {
        took[turns] = end - begin, waited[turns] = waiting - before, done[turns] = operation;
        turns++;
    }
    begin = end, before = waiting;
}

// The last operation: all tell how long theirs took. Ranks that are left have had the same ones.
static int tell(MPI_Comm comm, int own, int n) {
    int code = MPI_Allreduce(took, most_took, TURNS, MPI_DOUBLE, MPI_MAX, comm);
    (void)own, (void)n;
    TRY(MPI_Allreduce(waited, most_waited, TURNS, MPI_DOUBLE, MPI_MAX, comm));
    return code;
}

int main(int argc, char **argv) {
    MPI_Comm comm, next;
    int n, own;
    last = argc > 1 ? atoi(argv[1]) : 0;
    path = argc > 2 ? argv[2] : "crash_points.file";
    way = argc > 3 ? argv[3] : "";
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    in = malloc(4 * MOST), out = malloc(MOST);
    MPI_Comm_get_parent(&comm);
    if (comm != MPI_COMM_NULL) return be_child(comm);
    comm = MPI_COMM_WORLD;
    for (int operation = 0; operation <= OPERATIONS;) {
        note_turn(operation);
        now = operation < OPERATIONS ? operations[operation].name : "tell";
        MPI_Comm_rank(comm, &own);
        MPI_Comm_size(comm, &n);
        memset(out, own + 1, MOST);
        memset(in, 0, MOST);
        int code = (operation < OPERATIONS ? operations[operation].perform : tell)(comm, own, n), flag;
        allow(code);
        if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
        flag = code == MPI_SUCCESS ? WORKED : 0;
        int agreed = MPIX_Comm_agree(comm, &flag);
        allow(agreed);
        if (agreed == MPI_SUCCESS && flag & WORKED) {
            operation++;
            // With a way the short operations follow, and those of windows.
            if (*way && operation == 2) operation = ALLOCATED;
            if (*way && operation == ALLOCATED + 1) operation = OPERATIONS;
            if (operation == OPERATIONS && n == size) {
                if (rank == last) die();
                operation = 0;
            }
            continue;
        }
        now = "shrink";
        code = MPIX_Comm_shrink(comm, &next);
        if (code != MPI_SUCCESS) fail("cannot shrink", code);
        if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
        comm = next;
    }
    int longest = 0, with_cpu = 0;
    for (int i = 0; i < turns; i++) {
        if (most_took[i] > most_took[longest]) longest = i;
        if (most_took[i] - most_waited[i] > most_took[with_cpu] - most_waited[with_cpu]) with_cpu = i;
    }
    printf("rank %d survived: %d left, longest %.3f s, %.3f s with a CPU: %s\n", rank, n, most_took[longest],
           most_took[with_cpu] - most_waited[with_cpu], done[with_cpu] < OPERATIONS ? operations[done[with_cpu]].name : "tell");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
