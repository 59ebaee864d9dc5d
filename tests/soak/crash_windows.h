// The operations of crash_points.c on windows and files.
static int free_window(MPI_Comm comm, int code, MPI_Win *win) {
    if (code != MPI_SUCCESS) MPIX_Win_revoke(*win), MPIX_Comm_revoke(comm);
    int freed = MPI_Win_free(win);
    return code != MPI_SUCCESS ? code : freed;
}

// What works in every window: words at `at` of each rank, which are zero.
static int access_window(MPI_Comm comm, MPI_Win win, int own, int n, const MPI_Aint *at, int *memory) {
    int code = MPI_SUCCESS, one = 1, found = 0, mine = 0, right = (own + 1) % n, left = (own + n - 1) % n, taken = 0;
    int values[WORDS], ones[WORDS];
    MPI_Aint word = sizeof(int);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < WORDS; i++) ones[i] = 1;
    TRY(MPI_Win_lock_all(0, win));
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < n; i++) TRY(MPI_Accumulate(&one, 1, MPI_INT, i, at[i], 1, MPI_INT, MPI_SUM, win));
    TRY(MPI_Accumulate(ones, WORDS, MPI_INT, right, at[right] + 8 * word, WORDS, MPI_INT, MPI_SUM, win));
    TRY(MPI_Fetch_and_op(&one, &found, MPI_INT, right, at[right] + word, MPI_SUM, win));
    TRY(MPI_Win_flush(right, win));
    TRY(MPI_Compare_and_swap(&one, &taken, &found, MPI_INT, left, at[left] + 2 * word, win));
    TRY(MPI_Get_accumulate(&one, 1, MPI_INT, &found, 1, MPI_INT, right, at[right] + 3 * word, 1, MPI_INT, MPI_SUM, win));
    TRY(MPI_Put(&own, 1, MPI_INT, right, at[right] + 4 * word, 1, MPI_INT, win));
    TRY(MPI_Rput(&own, 1, MPI_INT, right, at[right] + 5 * word, 1, MPI_INT, win, &request));
    if (request != MPI_REQUEST_NULL) TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    int closed = MPI_Win_unlock_all(win);
    TRY(closed);
    for (int i = 0; i < n; i++) {
        TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i, 0, win));
        if (code != MPI_SUCCESS) break;
        code = MPI_Get(&mine, 1, MPI_INT, i, at[i] + 6 * word, 1, MPI_INT, win);
        TRY(MPI_Win_flush(i, win));
        mine++;
        TRY(MPI_Put(&mine, 1, MPI_INT, i, at[i] + 6 * word, 1, MPI_INT, win));
        closed = MPI_Win_unlock(i, win);
        TRY(closed);
    }
    TRY(MPI_Barrier(comm));
    TRY(MPI_Win_lock(MPI_LOCK_SHARED, left, 0, win));
    if (code == MPI_SUCCESS) {
        code = MPI_Get(values, WORDS, MPI_INT, left, at[left], WORDS, MPI_INT, win);
        closed = MPI_Win_unlock(left, win);
        TRY(closed);
        same(code, values[0], STEPS * n);
        same(code, values[1], 1);
        same(code, values[3], 1);
        same(code, values[4], (left + n - 1) % n);
        same(code, values[5], (left + n - 1) % n);
        same(code, values[6], n);
        same(code, values[WORDS - 1], 1);
    }
    TRY(MPI_Barrier(comm));
    TRY(MPI_Win_fence(0, win));
    TRY(MPI_Put(&own, 1, MPI_INT, right, at[right] + 60 * word, 1, MPI_INT, win));
    TRY(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (memory) same(code, memory[60], left);
    // The left neighbour accesses, this rank is accessed, and the other way round at the right one.
    MPI_Group all, before, after;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &left, &before);
    MPI_Group_incl(all, 1, &right, &after);
    TRY(MPI_Win_post(before, 0, win));
    TRY(MPI_Win_start(after, 0, win));
    TRY(MPI_Put(&own, 1, MPI_INT, right, at[right] + 61 * word, 1, MPI_INT, win));
    TRY(MPI_Win_complete(win));
    TRY(MPI_Win_wait(win));
    if (memory) same(code, memory[61], left);
    MPI_Group_free(&all);
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    return code;
}

enum { WINDOW = 64 * sizeof(int) };

static int allocated_window(MPI_Comm comm, int own, int n) {
    MPI_Aint at[8] = {0};
    int *memory, code, right = (own + 1) % n;
    MPI_Win win;
    code = MPI_Win_allocate(WINDOW + MOST, 1, MPI_INFO_NULL, comm, &memory, &win);
    if (code != MPI_SUCCESS) return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, 0, WINDOW);
    TRY(MPI_Barrier(comm));
    TRY(access_window(comm, win, own, n, at, memory));
    TRY(MPI_Win_fence(0, win));
    if (own % 2) TRY(MPI_Put(out, MOST, MPI_BYTE, right, WINDOW, MOST, MPI_BYTE, win));
    TRY(MPI_Win_fence(0, win));
    if ((own + n - 1) % n % 2) check(code, (unsigned char *)memory + WINDOW, (own + n - 1) % n, MOST);
    return free_window(comm, code, &win);
}

// Memory of the program, and long accesses.
static int created_window(MPI_Comm comm, int own, int n) {
    MPI_Aint at[8] = {0};
    int code, right = (own + 1) % n;
    char *memory = calloc(1, LONG + WINDOW);
    MPI_Win win;
    code = MPI_Win_create(memory, LONG + WINDOW, 1, MPI_INFO_NULL, comm, &win);
    if (code == MPI_SUCCESS) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        TRY(access_window(comm, win, own, n, at, (int *)memory));
        TRY(MPI_Win_lock_all(0, win));
        TRY(MPI_Put(out, LONG, MPI_BYTE, right, WINDOW, LONG, MPI_BYTE, win));
        TRY(MPI_Accumulate(out, LONG / 4, MPI_INT, right, WINDOW, LONG / 4, MPI_INT, MPI_REPLACE, win));
        TRY(MPI_Get(in, LONG, MPI_BYTE, right, WINDOW, LONG, MPI_BYTE, win));
        int closed = MPI_Win_unlock_all(win);
        TRY(closed);
        check(code, in, own, LONG);
        code = free_window(comm, code, &win);
    }
    free(memory);
    return code;
}

static int dynamic_window(MPI_Comm comm, int own, int n) {
    MPI_Aint at[8], mine;
    int code;
    // There are none without direct copies.
    if (getenv("OXMPI_SINGLE_COPY")) return MPI_SUCCESS;
    char *memory, *more = calloc(1, WINDOW);
    MPI_Win win;
    MPI_Alloc_mem(WINDOW, MPI_INFO_NULL, &memory);
    memset(memory, 0, WINDOW);
    MPI_Get_address(memory, &mine);
    code = MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
    if (code == MPI_SUCCESS) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        // In the order of their addresses and against it.
        char *low = memory < more ? memory : more, *high = memory < more ? more : memory;
        TRY(MPI_Win_attach(win, low, WINDOW));
        TRY(MPI_Win_attach(win, high, WINDOW));
        TRY(MPI_Win_detach(win, low));
        TRY(MPI_Win_attach(win, low, WINDOW));
        TRY(MPI_Allgather(&mine, 1, MPI_AINT, at, 1, MPI_AINT, comm));
        TRY(access_window(comm, win, own, n, at, (int *)memory));
        TRY(MPI_Barrier(comm));
        TRY(MPI_Win_detach(win, more));
        TRY(MPI_Win_detach(win, memory));
        code = free_window(comm, code, &win);
    }
    MPI_Free_mem(memory);
    free(more);
    return code;
}

static int shared_window(MPI_Comm comm, int own, int n) {
    int code, *memory, *theirs, unit, left = (own + n - 1) % n;
    MPI_Aint bytes;
    MPI_Win win;
    MPI_Comm node;
    code = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, own, MPI_INFO_NULL, &node);
    if (code != MPI_SUCCESS) return code;
    MPI_Comm_rank(node, &own);
    MPI_Comm_size(node, &n);
    left = (own + n - 1) % n;
    code = MPI_Win_allocate_shared(WINDOW, 1, MPI_INFO_NULL, node, &memory, &win);
    if (code == MPI_SUCCESS) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        memory[0] = own;
        TRY(MPI_Win_fence(0, win));
        TRY(MPI_Win_shared_query(win, left, &bytes, &unit, &theirs));
        if (code == MPI_SUCCESS) same(code, theirs[0], left);
        TRY(MPI_Win_fence(0, win));
        code = free_window(node, code, &win);
    }
    if (code != MPI_SUCCESS) MPIX_Comm_revoke(node), MPIX_Comm_revoke(comm);
    int freed = MPI_Comm_free(&node);
    return code != MPI_SUCCESS ? code : freed;
}

static int file(MPI_Comm comm, int own, int n) {
    int code;
    MPI_File handle;
    MPI_Datatype stripes;
    code = MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &handle);
    if (code != MPI_SUCCESS) return code;
    TRY(MPI_File_set_size(handle, 0));
    TRY(MPI_File_write_ordered(handle, out, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    TRY(MPI_File_seek_shared(handle, 1000, MPI_SEEK_SET));
    TRY(MPI_File_write_shared(handle, out, 10, MPI_BYTE, MPI_STATUS_IGNORE));
    TRY(MPI_Barrier(comm));
    TRY(MPI_File_read_at(handle, 100 * ((own + 1) % n), in, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    check(code, in, (own + 1) % n, 100);
    MPI_Type_vector(50, 16, 16 * n, MPI_BYTE, &stripes);
    MPI_Type_commit(&stripes);
    TRY(MPI_File_set_view(handle, 2000 + 16 * own, MPI_BYTE, stripes, "native", MPI_INFO_NULL));
    TRY(MPI_File_write_all(handle, out, 800, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(in, 0, 800);
    TRY(MPI_File_read_at_all(handle, 0, in, 800, MPI_BYTE, MPI_STATUS_IGNORE));
    check(code, in, own, 800);
    MPI_Type_free(&stripes);
    if (code != MPI_SUCCESS) MPIX_File_revoke(handle), MPIX_Comm_revoke(comm);
    int closed = MPI_File_close(&handle);
    return code != MPI_SUCCESS ? code : closed;
}
