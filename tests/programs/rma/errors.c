// ranks: 1 2 4
// timeout: 30
// no-check: all kinds of wrong use
// Every wrong use that can be seen: its class, and a text that says what is wrong. After each the window still works.
#include "windows.h"

static int called;

static void on_error(MPI_Win *win, int *code, ...) {
    (void)win, (void)code;
    called++;
}

// Outside of an epoch, and in the wrong one.
static void epochs(Window *w) {
    const int next = (rank + 1) % size;
    int value = 1, old = 0, flag = 0;
    MPI_Request request;
    MPI_Group group;
    MPI_Win_get_group(w->win, &group);
    const MPI_Aint at = place(w, next, 0);
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, next, at, 1, MPI_INT, w->win), MPI_ERR_RMA_SYNC, "MPI_Put");
    CHECK_ERROR(MPI_Get(&value, 1, MPI_INT, next, at, 1, MPI_INT, w->win), MPI_ERR_RMA_SYNC, "no epoch");
    CHECK_ERROR(MPI_Accumulate(&value, 1, MPI_INT, next, at, 1, MPI_INT, MPI_SUM, w->win), MPI_ERR_RMA_SYNC, "MPI_Acc");
    CHECK_ERROR(MPI_Fetch_and_op(&value, &old, MPI_INT, next, at, MPI_SUM, w->win), MPI_ERR_RMA_SYNC, "MPI_Fetch");
    CHECK_ERROR(MPI_Compare_and_swap(&value, &value, &old, MPI_INT, next, at, w->win), MPI_ERR_RMA_SYNC, "MPI_Comp");
    CHECK_ERROR(MPI_Rput(&value, 1, MPI_INT, next, at, 1, MPI_INT, w->win, &request), MPI_ERR_RMA_SYNC, "MPI_Rput");
    CHECK_ERROR(MPI_Win_unlock(next, w->win), MPI_ERR_RMA_SYNC, "not locked");
    CHECK_ERROR(MPI_Win_unlock_all(w->win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all has not been called");
    CHECK_ERROR(MPI_Win_flush(next, w->win), MPI_ERR_RMA_SYNC, "not locked");
    CHECK_ERROR(MPI_Win_flush_all(w->win), MPI_ERR_RMA_SYNC, "nothing is locked");
    CHECK_ERROR(MPI_Win_flush_local(next, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_flush_local");
    CHECK_ERROR(MPI_Win_flush_local_all(w->win), MPI_ERR_RMA_SYNC, "MPI_Win_flush_local_all");
    CHECK_ERROR(MPI_Win_complete(w->win), MPI_ERR_RMA_SYNC, "MPI_Win_start has not been called");
    CHECK_ERROR(MPI_Win_wait(w->win), MPI_ERR_RMA_SYNC, "MPI_Win_post has not been called");
    CHECK_ERROR(MPI_Win_test(w->win, &flag), MPI_ERR_RMA_SYNC, "not exposed");

    // While fences are.
    OK(MPI_Win_fence(0, w->win));
    OK(MPI_Put(&value, 1, MPI_INT, next, at, 1, MPI_INT, w->win));
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_fence");
    CHECK_ERROR(MPI_Win_lock_all(0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_fence");
    CHECK_ERROR(MPI_Win_start(group, 0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_fence");
    CHECK_ERROR(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win), MPI_ERR_RMA_SYNC, "NOPRECEDE");
    // The standard wants a lock for it; other libraries do not.
    OK(MPI_Rput(&value, 1, MPI_INT, next, at, 1, MPI_INT, w->win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Win_flush(next, w->win), MPI_ERR_RMA_SYNC, "not locked");
    MPI_Win copy = w->win;
    CHECK_ERROR(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC, "cannot be freed");
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, next, at, 1, MPI_INT, w->win), MPI_ERR_RMA_SYNC, "no epoch");

    // While one rank is locked.
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win));
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win), MPI_ERR_RMA_SYNC, "locked by this process already");
    CHECK_ERROR(MPI_Win_lock_all(0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock first");
    CHECK_ERROR(MPI_Win_fence(0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock first");
    CHECK_ERROR(MPI_Win_unlock_all(w->win), MPI_ERR_RMA_SYNC, "not all");
    CHECK_ERROR(MPI_Win_start(group, 0, w->win), MPI_ERR_RMA_SYNC, "locked");
    if (size > 1) {
        CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, rank, place(w, rank, 0), 1, MPI_INT, w->win), MPI_ERR_RMA_SYNC, "not locked");
        CHECK_ERROR(MPI_Win_unlock(rank, w->win), MPI_ERR_RMA_SYNC, "not locked");
    }
    OK(MPI_Win_unlock(next, w->win));
    CHECK_ERROR(MPI_Win_unlock(next, w->win), MPI_ERR_RMA_SYNC, "not locked");

    // While all are.
    OK(MPI_Win_lock_all(0, w->win));
    CHECK_ERROR(MPI_Win_lock_all(0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all");
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all");
    CHECK_ERROR(MPI_Win_unlock(next, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all");
    CHECK_ERROR(MPI_Win_post(group, 0, w->win), MPI_ERR_RMA_SYNC, "lock");
    CHECK_ERROR(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all first");
    OK(MPI_Win_unlock_all(w->win));

    // While exposed and started.
    OK(MPI_Win_post(group, 0, w->win));
    CHECK_ERROR(MPI_Win_post(group, 0, w->win), MPI_ERR_RMA_SYNC, "exposed");
    CHECK_ERROR(MPI_Win_fence(0, w->win), MPI_ERR_RMA_SYNC, "exposed");
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w->win), MPI_ERR_RMA_SYNC, "exposed");
    OK(MPI_Win_start(group, 0, w->win));
    CHECK_ERROR(MPI_Win_start(group, 0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_complete first");
    CHECK_ERROR(MPI_Win_lock_all(0, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_complete first");
    CHECK_ERROR(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC, "MPI_Win_complete first");
    OK(MPI_Win_complete(w->win));
    CHECK_ERROR(MPI_Win_free(&copy), MPI_ERR_RMA_SYNC, "exposed");
    OK(MPI_Win_wait(w->win));
    if (size > 1) {
        // A rank that was not in the group.
        const int none[] = {rank};
        MPI_Group others;
        MPI_Group_excl(group, 1, none, &others);
        OK(MPI_Win_post(others, 0, w->win));
        OK(MPI_Win_start(others, 0, w->win));
        CHECK_ERROR(MPI_Put(&value, 1, MPI_INT, rank, place(w, rank, 0), 1, MPI_INT, w->win), MPI_ERR_RMA_SYNC,
                    "not in the group");
        OK(MPI_Win_complete(w->win));
        OK(MPI_Win_wait(w->win));
        MPI_Group_free(&others);
    }
    MPI_Group_free(&group);
}

static void arguments(Window *w) {
    const int next = (rank + 1) % size;
    int value[64] = {1}, old[64];
    MPI_Datatype uncommitted, mixed, overlapping, pairs;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    const int lengths[] = {1, 1}, twice[] = {0, 0};
    const MPI_Aint displacements[] = {0, 8};
    const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT};
    MPI_Type_create_struct(2, lengths, displacements, types, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Type_indexed(2, lengths, twice, MPI_INT, &overlapping);
    MPI_Type_commit(&overlapping);
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    const MPI_Aint at = place(w, next, 0);
    OK(MPI_Win_lock_all(0, w->win));
#define PUT(address, count, type, rank, disp, tcount, ttype) \
    MPI_Put(address, count, type, rank, disp, tcount, ttype, w->win)
#define ACC(count, type, tcount, ttype, op) MPI_Accumulate(value, count, type, next, at, tcount, ttype, op, w->win)
    CHECK_ERROR(PUT(value, -1, MPI_INT, next, at, 1, MPI_INT), MPI_ERR_COUNT, "-1");
    CHECK_ERROR(PUT(value, 1, MPI_INT, next, at, -2, MPI_INT), MPI_ERR_COUNT, "-2");
    CHECK_ERROR(PUT(NULL, 1, MPI_INT, next, at, 1, MPI_INT), MPI_ERR_BUFFER, "null");
    CHECK_ERROR(PUT(value, 1, MPI_INT, size, at, 1, MPI_INT), MPI_ERR_RANK, "does not exist");
    CHECK_ERROR(PUT(value, 1, MPI_INT, -7, at, 1, MPI_INT), MPI_ERR_RANK, "-7");
    CHECK_ERROR(PUT(value, 1, MPI_DATATYPE_NULL, next, at, 1, MPI_INT), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    CHECK_ERROR(PUT(value, 1, MPI_INT, next, at, 1, uncommitted), MPI_ERR_TYPE, "committed");
    CHECK_ERROR(PUT(value, 2, MPI_INT, next, at, 1, MPI_INT), MPI_ERR_TRUNCATE, "8 bytes");
    CHECK_ERROR(ACC(2, MPI_INT, 1, overlapping, MPI_SUM), MPI_ERR_TYPE, "overlap");
    CHECK_ERROR(MPI_Get(value, 1, MPI_INT, next, at, 2, MPI_INT, w->win), MPI_ERR_TRUNCATE, "8 bytes");
    CHECK_ERROR(MPI_Get(NULL, 1, MPI_INT, next, at, 1, MPI_INT, w->win), MPI_ERR_BUFFER, "null");
    CHECK_ERROR(ACC(1, MPI_INT, 1, MPI_FLOAT, MPI_SUM), MPI_ERR_TYPE, "differ");
    CHECK_ERROR(ACC(1, mixed, 1, mixed, MPI_SUM), MPI_ERR_TYPE, "one predefined");
    CHECK_ERROR(ACC(1, MPI_INT, 1, MPI_INT, MPI_NO_OP), MPI_ERR_OP, "MPI_NO_OP");
    CHECK_ERROR(ACC(1, MPI_INT, 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP, "MPI_OP_NULL");
    CHECK_ERROR(ACC(1, MPI_FLOAT, 1, MPI_FLOAT, MPI_BAND), MPI_ERR_OP, "MPI_BAND");
    CHECK_ERROR(ACC(1, MPI_INT, 1, MPI_INT, MPI_MAXLOC), MPI_ERR_OP, "MPI_MAXLOC");
    CHECK_ERROR(ACC(2, MPI_INT, 1, MPI_INT, MPI_SUM), MPI_ERR_TRUNCATE, "8 bytes");
    CHECK_ERROR(MPI_Get_accumulate(value, 1, MPI_INT, old, 1, MPI_INT, next, at, 2, MPI_INT, MPI_SUM, w->win),
                MPI_ERR_TRUNCATE, "8 bytes");
    CHECK_ERROR(MPI_Fetch_and_op(value, old, pairs, next, at, MPI_SUM, w->win), MPI_ERR_TYPE, "predefined");
    CHECK_ERROR(MPI_Fetch_and_op(value, NULL, MPI_INT, next, at, MPI_SUM, w->win), MPI_ERR_BUFFER, "null");
    CHECK_ERROR(MPI_Compare_and_swap(value, value, old, MPI_DOUBLE, next, at, w->win), MPI_ERR_TYPE, "MPI_DOUBLE");
    CHECK_ERROR(MPI_Compare_and_swap(value, value, old, pairs, next, at, w->win), MPI_ERR_TYPE, "predefined");
    CHECK_ERROR(MPI_Compare_and_swap(value, NULL, old, MPI_INT, next, at, w->win), MPI_ERR_BUFFER, "null");
    CHECK_ERROR(MPI_Rget(value, 1, MPI_INT, next, at, 1, MPI_INT, w->win, NULL), MPI_ERR_ARG, "request");

    // To MPI_PROC_NULL.
    MPI_Request request;
    OK(PUT(value, 1, MPI_INT, MPI_PROC_NULL, at, 1, MPI_INT));
    OK(MPI_Get(value, 1, MPI_INT, MPI_PROC_NULL, -5, 1, MPI_INT, w->win));
    OK(MPI_Accumulate(value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, w->win));
    old[0] = 5;
    OK(MPI_Fetch_and_op(value, old, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, w->win));
    OK(MPI_Compare_and_swap(value, value, old, MPI_INT, MPI_PROC_NULL, 0, w->win));
    CHECK_EQ(old[0], 5);
    OK(MPI_Rput(value, 1, MPI_INT, MPI_PROC_NULL, at, 1, MPI_INT, w->win, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    OK(MPI_Win_flush(MPI_PROC_NULL, w->win));
    OK(MPI_Win_flush_local(MPI_PROC_NULL, w->win));
    CHECK_ERROR(MPI_Win_unlock(MPI_PROC_NULL, w->win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock_all");

    // Beyond the end, by one byte and by all of memory.
    if (w->kind != DYNAMIC) {
        CHECK_ERROR(PUT(value, 5, MPI_INT, next, 0, 5, MPI_INT), MPI_ERR_RMA_RANGE, "16 bytes");
        CHECK_ERROR(PUT(value, 1, MPI_INT, next, 4, 1, MPI_INT), MPI_ERR_RMA_RANGE, "displacement 4");
        CHECK_ERROR(PUT(value, 1, MPI_INT, next, (MPI_Aint)1 << 62, 1, MPI_INT), MPI_ERR_RMA_RANGE, "16 bytes");
        CHECK_ERROR(PUT(value, 1, MPI_INT, next, -1, 1, MPI_INT), MPI_ERR_DISP, "-1");
        CHECK_ERROR(MPI_Get(value, 64, MPI_INT, next, 0, 64, MPI_INT, w->win), MPI_ERR_RMA_RANGE, "rank");
        CHECK_ERROR(MPI_Fetch_and_op(value, old, MPI_LONG, next, 3, MPI_SUM, w->win), MPI_ERR_RMA_RANGE, "12 to 20");
        CHECK_ERROR(MPI_Compare_and_swap(value, value, old, MPI_LONG, next, 3, w->win), MPI_ERR_RMA_RANGE, "12 to 20");
        OK(PUT(value, 0, MPI_INT, next, 4, 0, MPI_INT));
        CHECK_ERROR(MPI_Win_attach(w->win, value, 4), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
        CHECK_ERROR(MPI_Win_detach(w->win, value), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
    } else {
        CHECK_ERROR(PUT(value, 5, MPI_INT, next, at, 5, MPI_INT), MPI_ERR_RMA_RANGE, "20 bytes");
        CHECK_ERROR(PUT(value, 1, MPI_INT, next, at - 1, 1, MPI_INT), MPI_ERR_RMA_RANGE, "attached");
        CHECK_ERROR(PUT(value, 1, MPI_INT, next, -8, 1, MPI_INT), MPI_ERR_RMA_RANGE, "attached");
        CHECK_ERROR(MPI_Win_attach(w->win, w->base + 15, 4), MPI_ERR_RMA_ATTACH, "overlap");
        CHECK_ERROR(MPI_Win_attach(w->win, w->base, 4), MPI_ERR_RMA_ATTACH, "overlap");
        CHECK_ERROR(MPI_Win_attach(w->win, value, -1), MPI_ERR_SIZE, "-1");
        CHECK_ERROR(MPI_Win_detach(w->win, w->base + 1), MPI_ERR_BASE, "attached");
        MPI_Aint bytes;
        int unit;
        void *base;
        CHECK_ERROR(MPI_Win_shared_query(w->win, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR, "dynamic");
    }
    OK(MPI_Win_unlock_all(w->win));
    CHECK_ERROR(MPI_Win_lock(0, next, 0, w->win), MPI_ERR_LOCKTYPE, "MPI_LOCK_EXCLUSIVE");
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, w->win), MPI_ERR_RANK, "does not exist");
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, next, 3, w->win), MPI_ERR_ASSERT, "0x3");
    CHECK_ERROR(MPI_Win_lock_all(1, w->win), MPI_ERR_ASSERT, "0x1");
    CHECK_ERROR(MPI_Win_fence(-1, w->win), MPI_ERR_ASSERT, "MPI_MODE_");
    CHECK_ERROR(MPI_Win_post(MPI_GROUP_EMPTY, 1, w->win), MPI_ERR_ASSERT, "MPI_Win_post");
    CHECK_ERROR(MPI_Win_start(MPI_GROUP_EMPTY, 1, w->win), MPI_ERR_ASSERT, "MPI_Win_start");
    CHECK_ERROR(MPI_Win_start(MPI_GROUP_NULL, 0, w->win), MPI_ERR_GROUP, "MPI_GROUP_NULL");
    MPI_Type_free(&uncommitted);
    MPI_Type_free(&mixed);
    MPI_Type_free(&overlapping);
    MPI_Type_free(&pairs);
}

static void making(void) {
    MPI_Win win = MPI_WIN_NULL;
    char memory[8];
    void *base;
    MPI_Info info;
    CHECK_ERROR(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_SIZE, "-1");
    CHECK_ERROR(MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_BASE, "8 bytes");
    CHECK_ERROR(MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_DISP, "0");
    CHECK_ERROR(MPI_Win_create(memory, 8, -4, MPI_INFO_NULL, MPI_COMM_SELF, &win), MPI_ERR_DISP, "-4");
    CHECK_ERROR(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM, "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL), MPI_ERR_ARG, "win");
    CHECK_ERROR(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL, &win), MPI_ERR_ARG, "baseptr");
    CHECK_ERROR(MPI_Win_allocate(-8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_SIZE, "-8");
    CHECK_ERROR(MPI_Win_allocate((MPI_Aint)1 << 50, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win), MPI_ERR_NO_MEM, "bytes");
    const int one_host = is_one_host(MPI_COMM_WORLD);
    CHECK_ERROR(MPI_Win_allocate_shared(INT64_MAX, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
                one_host ? MPI_ERR_NO_MEM : MPI_ERR_RMA_SHARED, "memory");
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "48");
    CHECK_ERROR(MPI_Win_allocate(8, 1, info, MPI_COMM_SELF, &base, &win), MPI_ERR_INFO_VALUE, "48");
    MPI_Info_free(&info);
    CHECK(win == MPI_WIN_NULL);
    CHECK_ERROR(MPI_Win_free(&win), MPI_ERR_WIN, "MPI_WIN_NULL");
    CHECK_ERROR(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN, "MPI_WIN_NULL");
    OK(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    const MPI_Win copy = win;
    OK(MPI_Win_free(&win));
    CHECK_ERROR(MPI_Win_fence(0, copy), MPI_ERR_WIN, "freed");
    if (size > 1) {
        // Two groups have no window together.
        MPI_Comm half, inter;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        CHECK_ERROR(MPI_Win_allocate(8, 1, MPI_INFO_NULL, inter, &base, &win), MPI_ERR_COMM, "intercommunicator");
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    making();
    for (int kind = 0; kind < KINDS; kind++) {
        Window w = window(kind, 16, 4);
        OK(MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN));
        epochs(&w);
        MPI_Barrier(MPI_COMM_WORLD);
        arguments(&w);
        MPI_Barrier(MPI_COMM_WORLD);

        // An error on a window goes to the window's handler.
        MPI_Errhandler handler;
        MPI_Win_create_errhandler(on_error, &handler);
        OK(MPI_Win_set_errhandler(w.win, handler));
        MPI_Errhandler_free(&handler);
        called = 0;
        CHECK_CLASS(MPI_Win_flush_all(w.win), MPI_ERR_RMA_SYNC);
        CHECK_EQ(called, 1);
        OK(MPI_Win_call_errhandler(w.win, MPI_ERR_OTHER));
        CHECK_EQ(called, 2);

        // It still works.
        const int mark = rank + 1, next = (rank + 1) % size;
        OK(MPI_Win_fence(0, w.win));
        OK(MPI_Put(&mark, 1, MPI_INT, next, place(&w, next, 0), 1, MPI_INT, w.win));
        OK(MPI_Win_fence(0, w.win));
        CHECK_EQ(*(int *)w.base, (rank + size - 1) % size + 1);
        window_free(&w);
    }

    // A window that no rank will lock.
    MPI_Info info;
    MPI_Win win;
    void *base;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    OK(MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC, "no_locks");
    CHECK_ERROR(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "no_locks");
    OK(MPI_Win_free(&win));
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
