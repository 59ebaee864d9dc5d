// ranks: 1 2 3
// args: spawn 2
// args: connect 2
// args: alone 1
// args: nested 1
// timeout: 60
// Windows over an intracommunicator that was merged from several jobs: of every flavour, with every kind of operation and
// synchronisation, also on a target that does not call MPI.
#include "../rma/windows.h"
#include "jobs.h"

enum { WORDS = 64, ROUNDS = 8, LONG = 300000, BYTES = WORDS * 8 + LONG };

static int me, n;
static MPI_Comm all;

static int64_t *words(const Window *w) { return (int64_t *)w->base; }

static void fences(const Window *w) {
    int64_t own[WORDS], got = -1;
    MPI_Win_fence(0, w->win);
    for (int to = 0; to < n; to++) {
        own[to] = 1000 * me + to;
        MPI_Put(&own[to], 1, MPI_INT64_T, to, place(w, to, 8 * me), 1, MPI_INT64_T, w->win);
        own[WORDS / 2] = me + 1;
        MPI_Accumulate(&own[WORDS / 2], 1, MPI_INT64_T, to, place(w, to, 8 * n), 1, MPI_INT64_T, MPI_SUM, w->win);
    }
    MPI_Win_fence(0, w->win);
    for (int from = 0; from < n; from++) CHECK_EQ(words(w)[from], 1000 * from + me);
    CHECK_EQ(words(w)[n], n * (n + 1) / 2);
    const int next = (me + 1) % n;
    MPI_Get(&got, 1, MPI_INT64_T, next, place(w, next, 8 * me), 1, MPI_INT64_T, w->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    CHECK_EQ(got, 1000 * me + next);
}

// Each rank writes every other integer of a long piece of its neighbour's memory, and reads it back.
static void neighbours(const Window *w) {
    const int to = (me + 1) % n, from = (me + n - 1) % n, count = LONG / 8;
    MPI_Group whole, origins, targets;
    MPI_Win_get_group(w->win, &whole);
    MPI_Group_incl(whole, 1, &from, &origins);
    MPI_Group_incl(whole, 1, &to, &targets);
    MPI_Datatype vector;
    MPI_Type_vector(count, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    int *out = get_memory(sizeof(int) * (size_t)count), *in = get_memory(sizeof(int) * (size_t)count);
    for (int i = 0; i < count; i++) out[i] = 7 * i + me;
    for (int round = 0; round < 2; round++) {
        MPI_Win_post(origins, 0, w->win);
        MPI_Win_start(targets, 0, w->win);
        if (round == 0) MPI_Put(out, count, MPI_INT, to, place(w, to, 8 * WORDS), 1, vector, w->win);
        if (round == 1) MPI_Get(in, count, MPI_INT, to, place(w, to, 8 * WORDS), 1, vector, w->win);
        MPI_Win_complete(w->win);
        MPI_Win_wait(w->win);
        const int *here = (const int *)(w->base + 8 * WORDS);
        for (int i = 0; round == 0 && i < count; i++) CHECK_EQ(here[2 * i], 7 * i + from);
        for (int i = 0; round == 1 && i < count; i++) CHECK_EQ(in[i], out[i]);
    }
    free(out);
    free(in);
    MPI_Type_free(&vector);
    MPI_Group_free(&whole);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
}

// All ranks count in one word of each rank, with locks, fetch-and-op, compare-and-swap and accumulates.
static void counting(const Window *w) {
    const int64_t one = 1;
    MPI_Barrier(all);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, w->win);
    memset(w->base, 0, 8 * WORDS);
    MPI_Win_unlock(me, w->win);
    MPI_Barrier(all);
    for (int round = 0; round < ROUNDS; round++) {
        for (int step = 0; step < n; step++) {
            const int to = (me + step) % n;
            int64_t old = 0, next;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, w->win);
            MPI_Get(&old, 1, MPI_INT64_T, to, place(w, to, 0), 1, MPI_INT64_T, w->win);
            MPI_Win_flush(to, w->win);
            next = old + 1;
            MPI_Put(&next, 1, MPI_INT64_T, to, place(w, to, 0), 1, MPI_INT64_T, w->win);
            MPI_Win_unlock(to, w->win);
            MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
            MPI_Fetch_and_op(&one, &old, MPI_INT64_T, to, place(w, to, 8), MPI_SUM, w->win);
            MPI_Win_flush(to, w->win);
            CHECK(old >= round && old < (int64_t)n * ROUNDS);
            for (int64_t seen = 0;; seen = old) {
                next = seen + 1;
                MPI_Compare_and_swap(&next, &seen, &old, MPI_INT64_T, to, place(w, to, 16), w->win);
                MPI_Win_flush(to, w->win);
                if (old == seen) break;
            }
            MPI_Win_unlock(to, w->win);
        }
        MPI_Win_lock_all(0, w->win);
        for (int to = 0; to < n; to++)
            MPI_Accumulate(&one, 1, MPI_INT64_T, to, place(w, to, 24), 1, MPI_INT64_T, MPI_SUM, w->win);
        MPI_Request request;
        int64_t before = -1;
        MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, 0, place(w, 0, 32), 1, MPI_INT64_T, MPI_SUM,
                            w->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(before >= round);
        MPI_Win_flush_all(w->win);
        MPI_Win_unlock_all(w->win);
    }
    MPI_Barrier(all);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w->win);
    for (int i = 0; i < 4; i++) CHECK_EQ(words(w)[i], (int64_t)n * ROUNDS);
    CHECK_EQ(words(w)[4], me == 0 ? (int64_t)n * ROUNDS : 0);
    MPI_Win_unlock(me, w->win);
}

// The last rank waits for a word in its own memory, and answers in it, without calling MPI.
static void without_help(const Window *w) {
    int *model, flag;
    MPI_Win_get_attr(w->win, MPI_WIN_MODEL, &model, &flag);
    const int last = n - 1;
    if (n == 1 || *model != MPI_WIN_UNIFIED) return;
    volatile int64_t *here = (volatile int64_t *)words(w) + 40;
    MPI_Barrier(all);
    if (me == last) {
        while (here[0] != 4711) usleep(100);
        here[1] = here[0] + 1;
    }
    if (me == 0) {
        int64_t word = 4711, answer = 0;
        MPI_Win_lock(MPI_LOCK_SHARED, last, 0, w->win);
        MPI_Put(&word, 1, MPI_INT64_T, last, place(w, last, 320), 1, MPI_INT64_T, w->win);
        MPI_Win_flush(last, w->win);
        while (answer != 4712) {
            MPI_Get(&answer, 1, MPI_INT64_T, last, place(w, last, 328), 1, MPI_INT64_T, w->win);
            MPI_Win_flush(last, w->win);
        }
        MPI_Win_unlock(last, w->win);
    }
    MPI_Barrier(all);
}

static void wrong(const Window *w) {
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    const int64_t word = 1;
    const int to = (me + 1) % n;
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w->win);
    int code = MPI_Put(&word, 1, MPI_INT64_T, to, place(w, to, (MPI_Aint)1 << 40), 1, MPI_INT64_T, w->win);
    CHECK(code != MPI_SUCCESS);
    OK(MPI_Put(&word, 1, MPI_INT64_T, to, place(w, to, 8 * 50), 1, MPI_INT64_T, w->win));
    OK(MPI_Win_unlock(to, w->win));
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_ARE_FATAL);
}

// Shared memory needs one host.
static void shared(void) {
    const int one_host = is_one_host(all);
    MPI_Win win;
    void *base;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    int code = MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, all, &base, &win);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_ARE_FATAL);
    if (one_host) {
        OK(code);
        MPI_Win_free(&win);
    } else {
        CHECK_EQ(check_class(code), MPI_ERR_RMA_SHARED);
        CHECK_TEXT(code, "MPI_COMM_TYPE_SHARED");
    }
}

static void windows(void) {
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &n);
    CHECK(n + 1 < WORDS / 2);
    // The ranks that began the job have given some numbers to windows of their own.
    void *base;
    MPI_Win own = MPI_WIN_NULL;
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &own);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == SHARED) continue;
        Window w = window_on(all, kind, BYTES, 1), second = window_on(all, kind, BYTES, 1);
        fences(&w);
        neighbours(&w);
        counting(&w);
        counting(&second);
        without_help(&second);
        wrong(&w);
        MPI_Barrier(all);
        window_free(&w);
        MPI_Barrier(all);
        window_free(&second);
    }
    shared();
    if (own != MPI_WIN_NULL) MPI_Win_free(&own);
}

// Merges the two groups of an intercommunicator with the group that was there before.
static void merge(MPI_Comm inter, int high) {
    MPI_Intercomm_merge(inter, high, &all);
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *form = argv[1];
    char port[MPI_MAX_PORT_NAME] = "";
    pid_t job = 0;
    MPI_Comm inter, parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        merge(parent, 1);
        if (!strcmp(form, "first")) {
            char *words[] = {(char *)"second", NULL};
            MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, all, &inter, MPI_ERRCODES_IGNORE);
            MPI_Comm before = all;
            merge(inter, 0);
            windows();
            MPI_Comm_disconnect(&before);
            MPI_Comm_disconnect(&all);
            return finish();
        }
        windows();
    } else if (!strcmp(form, "spawn") || !strcmp(form, "nested")) {
        const int nested = !strcmp(form, "nested");
        char *words[] = {(char *)(nested ? "first" : "child"), NULL};
        MPI_Comm_spawn(argv[0], words, atoi(argv[2]), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        merge(inter, 0);
        MPI_Comm before = all;
        if (nested) {
            // Three jobs: all processes so far spawn the third one.
            words[0] = (char *)"second";
            MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, all, &inter, MPI_ERRCODES_IGNORE);
            merge(inter, 0);
        }
        windows();
        if (nested) MPI_Comm_disconnect(&before);
    } else if (argv[2] && argc == 3 && strlen(argv[2]) < 4) {
        if (rank == size - 1) {
            MPI_Open_port(MPI_INFO_NULL, port);
            job = strcmp(form, "alone") ? start_job(atoi(argv[2]), argv[0], form, port) : start_alone(argv[0], form, port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &inter);
        merge(inter, 0);
        windows();
    } else {
        MPI_Comm_connect(argv[2], MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        merge(inter, 1);
        windows();
    }
    MPI_Comm_disconnect(&all);
    if (job) {
        MPI_Close_port(port);
        end_job(job, 0);
    }
    return finish();
}
