// ranks: 1 2 4
// timeout: 30
// What a window is besides its memory: group, attributes, name, hints, error handler, handle as an integer; memory that is
// shared, contiguous or not, and asked for; alignment.
#include "windows.h"

static void check_attributes(const Window *w, MPI_Aint bytes, int flavor) {
    void *base = (void *)1;
    MPI_Aint *window_size = NULL;
    int *unit = NULL, *made = NULL, *model = NULL, flag = 0;
    MPI_Win_get_attr(w->win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag);
    MPI_Win_get_attr(w->win, MPI_WIN_SIZE, &window_size, &flag);
    CHECK(flag);
    MPI_Win_get_attr(w->win, MPI_WIN_DISP_UNIT, &unit, &flag);
    CHECK(flag);
    MPI_Win_get_attr(w->win, MPI_WIN_CREATE_FLAVOR, &made, &flag);
    CHECK(flag);
    MPI_Win_get_attr(w->win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag);
    CHECK(base == (w->kind == DYNAMIC ? MPI_BOTTOM : (void *)w->base));
    CHECK_EQ(*window_size, w->kind == DYNAMIC ? 0 : bytes);
    CHECK_EQ(*unit, w->unit);
    CHECK_EQ(*made, flavor);
    CHECK(*model == MPI_WIN_UNIFIED || (getenv("OXMPI_SINGLE_COPY") && *model == MPI_WIN_SEPARATE));
}

static int deleted;

static int on_delete(MPI_Win win, int key, void *value, void *extra) {
    (void)win, (void)key, (void)extra;
    deleted += *(int *)value;
    return MPI_SUCCESS;
}

static void own_attributes(Window *w) {
    static int seven = 7, eight = 8;
    int key, flag = 1, *found = NULL;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Win_get_attr(w->win, key, &found, &flag);
    CHECK_EQ(flag, 0);
    MPI_Win_set_attr(w->win, key, &seven);
    MPI_Win_get_attr(w->win, key, &found, &flag);
    CHECK(flag && found == &seven);
    MPI_Win_set_attr(w->win, key, &eight);
    CHECK_EQ(deleted, 7);
    MPI_Win_delete_attr(w->win, key);
    CHECK_EQ(deleted, 15);
    MPI_Win_set_attr(w->win, key, &seven);
    MPI_Win_free_keyval(&key);
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
}

static void expect_hint(MPI_Info info, const char *key, const char *value) {
    char text[64];
    int length = sizeof text, flag = 0;
    MPI_Info_get_string(info, key, &length, text, &flag);
    if (!value) {
        CHECK_EQ(flag, 0);
        return;
    }
    CHECK(flag);
    if (flag && strcmp(text, value)) CHECK_FAIL("%s is \"%s\", not \"%s\"", key, text, value);
}

static void hints(void) {
    MPI_Info info, used;
    MPI_Win win;
    void *base;
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "rar,waw");
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Info_set(info, "mpi_accumulate_granularity", "8");
    MPI_Info_set(info, "same_size", "true");
    MPI_Info_set(info, "alloc_shared_noncontig", "maybe");
    MPI_Info_set(info, "somebody_elses_hint", "true");
    const int one_host = is_one_host(MPI_COMM_WORLD);
    if (one_host) MPI_Win_allocate_shared(64, 1, info, MPI_COMM_WORLD, &base, &win);
    else MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_info(win, &used);
    expect_hint(used, "accumulate_ordering", "rar,waw");
    expect_hint(used, "accumulate_ops", "same_op");
    expect_hint(used, "mpi_accumulate_granularity", "8");
    expect_hint(used, "same_size", "true");
    expect_hint(used, "same_disp_unit", "false");
    expect_hint(used, "no_locks", "false");
    if (one_host) expect_hint(used, "alloc_shared_noncontig", "false");
    expect_hint(used, "somebody_elses_hint", NULL);
    MPI_Info_free(&used);
    MPI_Info_set(info, "accumulate_ordering", "none");
    MPI_Info_set(info, "accumulate_ops", "nonsense");
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "mpi_accumulate_granularity", "16");
    MPI_Win_set_info(win, info);
    MPI_Win_get_info(win, &used);
    expect_hint(used, "accumulate_ordering", "none");
    expect_hint(used, "accumulate_ops", "same_op");
    expect_hint(used, "no_locks", "true");
    expect_hint(used, "mpi_accumulate_granularity", "8");
    MPI_Info_free(&used);
    MPI_Win_set_info(win, MPI_INFO_NULL);
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_info(win, &used);
    expect_hint(used, "accumulate_ordering", "rar,raw,war,waw");
    expect_hint(used, "accumulate_ops", "same_op_no_op");
    expect_hint(used, "mpi_accumulate_granularity", "0");
    MPI_Info_free(&used);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
}

// Rank r asks for r * 24 bytes, rank 0 for none; they follow each other, or are aligned each.
static void shared_memory(int contiguous, const char *alignment) {
    if (!is_one_host(MPI_COMM_WORLD)) return;
    MPI_Info info;
    MPI_Info_create(&info);
    if (!contiguous) MPI_Info_set(info, "alloc_shared_noncontig", "true");
    if (alignment) MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment);
    const uintptr_t align = alignment ? (uintptr_t)atol(alignment) : 8;
    char *base, *at, *first = NULL;
    MPI_Win win;
    MPI_Aint bytes = -1;
    int unit = -1;
    MPI_Win_allocate_shared(rank * 24, rank + 1, info, MPI_COMM_WORLD, &base, &win);
    if (rank == 1 || !contiguous) CHECK(rank == 0 || (uintptr_t)base % align == 0);
    MPI_Win_fence(0, win);
    memset(base, rank + 1, (size_t)rank * 24);
    MPI_Win_fence(0, win);
    for (int r = 0; r < size; r++) {
        MPI_Aint wide = -1;
        MPI_Win_shared_query(win, r, &bytes, &unit, &at);
        CHECK_EQ(bytes, r * 24);
        CHECK_EQ(unit, r + 1);
        MPI_Win_shared_query_c(win, r, &bytes, &wide, &at);
        CHECK_EQ(wide, r + 1);
        if (r == 1) first = at;
        if (r > 1 && contiguous) CHECK(at == first + 24 * (r * (r - 1) / 2));
        if (r == rank && r > 0) CHECK(at == base);
        if (r == 0 && !contiguous) CHECK(at == NULL);
        CHECK_BYTES(at, bytes, r + 1);
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &at);
    CHECK_EQ(bytes, size > 1 ? 24 : 0);
    if (size > 1) CHECK(at == first);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
}

// Of memory that the program gave, its own can be asked for; what cannot be shared has no size.
static void query_others(void) {
    const int one_host = is_one_host(MPI_COMM_WORLD);
    for (int kind = CREATED; kind <= ALLOCATED; kind++) {
        Window w = window(kind, 40, 8);
        char *at = NULL;
        MPI_Aint bytes = -1;
        int unit = -1;
        MPI_Win_shared_query(w.win, rank, &bytes, &unit, &at);
        CHECK_EQ(bytes, 40);
        CHECK_EQ(unit, 8);
        CHECK(at == w.base);
        MPI_Win_shared_query(w.win, (rank + 1) % size, &bytes, &unit, &at);
        CHECK(bytes == 40 || ((kind == CREATED || !one_host) && bytes == 0));
        window_free(&w);
        // MPI_PROC_NULL stands for the first process that has memory, also where that cannot be reached.
        w = window(kind, 8 * (rank + 1), 8);
        MPI_Aint of_first = -1;
        char *there = NULL;
        MPI_Win_shared_query(w.win, 0, &of_first, &unit, &there);
        MPI_Win_shared_query(w.win, MPI_PROC_NULL, &bytes, &unit, &at);
        CHECK_EQ(bytes, of_first);
        CHECK(bytes == 8 || ((kind == CREATED || !one_host) && rank > 0 && bytes == 0));
        if (bytes) CHECK(at == there);
        window_free(&w);
    }
}

int main(int argc, char **argv) {
    static const int flavors[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED,
                                  MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_DYNAMIC};
    start(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == SHARED && !is_one_host(MPI_COMM_WORLD)) continue;
        Window w = window(kind, 80, 4);
        check_attributes(&w, 80, flavors[kind]);
        deleted = 0;
        own_attributes(&w);

        MPI_Group group, world;
        int same, length = -1;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Win_get_group(w.win, &group);
        MPI_Group_compare(group, world, &same);
        CHECK_EQ(same, MPI_IDENT);
        MPI_Group_free(&group);
        MPI_Group_free(&world);

        char name[MPI_MAX_OBJECT_NAME] = "x";
        MPI_Win_get_name(w.win, name, &length);
        CHECK(length == 0 && name[0] == 0);
        MPI_Win_set_name(w.win, "board");
        MPI_Win_get_name(w.win, name, &length);
        CHECK(length == 5 && !strcmp(name, "board"));

        MPI_Errhandler handler;
        MPI_Win_get_errhandler(w.win, &handler);
        CHECK(handler == MPI_ERRORS_ARE_FATAL);
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        MPI_Win_get_errhandler(w.win, &handler);
        CHECK(handler == MPI_ERRORS_RETURN);

        CHECK(MPI_Win_f2c(MPI_Win_c2f(w.win)) == w.win);
        CHECK(MPI_Win_fromint(MPI_Win_toint(w.win)) == w.win);
        window_free(&w);
        CHECK_EQ(deleted, 22);
    }
    hints();
    shared_memory(1, NULL);
    shared_memory(0, NULL);
    shared_memory(1, "65536");
    shared_memory(0, "8192");
    query_others();

    // Many at a time, on a part of the processes, and one after the other.
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    Window many[20];
    for (int i = 0; i < 20; i++) many[i] = window_on(half, i % KINDS, 8, 8);
    for (int i = 0; i < 20; i++) {
        int me, n;
        MPI_Comm_rank(half, &me);
        MPI_Comm_size(half, &n);
        const int64_t value = me * 100 + i;
        const int next = (me + 1) % n, previous = (me + n - 1) % n;
        MPI_Win_fence(0, many[i].win);
        MPI_Put(&value, 1, MPI_INT64_T, next, place(&many[i], next, 0), 1, MPI_INT64_T, many[i].win);
        MPI_Win_fence(0, many[i].win);
        CHECK_EQ(*(int64_t *)many[i].base, previous * 100 + i);
    }
    for (int i = 0; i < 20; i++) window_free(&many[(i * 7) % 20]);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
