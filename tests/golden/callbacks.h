// What the functions of a program are called with: a row for each kind, after the rows of the functions.

static char heard[512];
static size_t heard_to;

static void hear(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (heard_to < sizeof heard) heard_to += (size_t)vsnprintf(heard + heard_to, sizeof heard - heard_to, format, list);
    va_end(list);
}

static void row_of(const char *callbacks)
{
    printf("callbacks of %s ->%s\n", callbacks, heard_to ? heard : " none");
    fflush(stdout);
    heard_to = 0;
}

static const char *same(int is_same) { return is_same ? "right" : "wrong"; }

#define ERROR_HANDLER(Type, kind)                                                                        \
    static void on_##kind##_error(Type *handle, int *code, ...)                                          \
    {                                                                                                    \
        hear(" %s %s", same((uintptr_t)*handle == good[K_##kind]), class_name(*code));                   \
    }
ERROR_HANDLER(MPI_Comm, comm)
ERROR_HANDLER(MPI_File, file)
ERROR_HANDLER(MPI_Session, session)
ERROR_HANDLER(MPI_Win, win)

// A call of the handler by name, and an error of another function.
#define ROW_OF_ERROR_HANDLER(Type, kind, call)                                                           \
    do {                                                                                                 \
        MPI_Errhandler handler, now_set;                                                                 \
        MUST(Type##_create_errhandler(on_##kind##_error, &handler));                                     \
        MUST(Type##_set_errhandler((Type)good[K_##kind], handler));                                      \
        MUST(Type##_get_errhandler((Type)good[K_##kind], &now_set));                                     \
        hear(" %s", same(now_set == handler));                                                           \
        Type##_call_errhandler((Type)good[K_##kind], MPI_ERR_KEYVAL);                                    \
        (void)call;                                                                                      \
        MUST(Type##_set_errhandler((Type)good[K_##kind], MPI_ERRORS_RETURN));                            \
        MUST(MPI_Errhandler_free(&now_set));                                                             \
        MUST(MPI_Errhandler_free(&handler));                                                             \
        row_of(#Type "_create_errhandler");                                                              \
    } while (0)

static int extra, stored, copied, key;
static uintptr_t owner;

#define ATTRIBUTES(Type, handle_type, kind)                                                              \
    static int copy_##kind(handle_type old, int keyval, void *state, void *value, void *copy, int *flag) \
    {                                                                                                    \
        int right = (uintptr_t)old == owner && keyval == key && state == &extra && value == &stored;     \
        hear(" copy %s", same(right));                                                                   \
        *(void **)copy = &copied;                                                                        \
        *flag = 1;                                                                                       \
        return MPI_SUCCESS;                                                                              \
    }                                                                                                    \
    static int delete_##kind(handle_type from, int keyval, void *value, void *state)                     \
    {                                                                                                    \
        int right = keyval == key && state == &extra && (value == &copied || (uintptr_t)from == owner);  \
        hear(" delete %s", same(right));                                                                 \
        return MPI_SUCCESS;                                                                              \
    }                                                                                                    \
    static void row_of_##kind##_attributes(handle_type handle)                                           \
    {                                                                                                    \
        void *value = NULL;                                                                              \
        int flag = 0;                                                                                    \
        owner = (uintptr_t)handle;                                                                       \
        MUST(Type##_create_keyval(copy_##kind, delete_##kind, &key, &extra));                            \
        MUST(Type##_set_attr(handle, key, &stored));                                                     \
        MUST(Type##_get_attr(handle, key, &value, &flag));                                               \
        hear(" %s", same(flag && value == &stored));                                                     \
        duplicate_##kind(handle);                                                                        \
        MUST(Type##_delete_attr(handle, key));                                                           \
        MUST(Type##_free_keyval(&key));                                                                  \
        row_of(#Type "_create_keyval");                                                                  \
    }

static void duplicate_comm(MPI_Comm comm)
{
    MPI_Comm copy;
    MUST(MPI_Comm_dup(comm, &copy));
    MUST(MPI_Comm_free(&copy));
}

static void duplicate_datatype(MPI_Datatype type)
{
    MPI_Datatype copy;
    MUST(MPI_Type_dup(type, &copy));
    MUST(MPI_Type_free(&copy));
}

// A window has no duplicate.
static void duplicate_win(MPI_Win win) { (void)win; }

ATTRIBUTES(MPI_Comm, MPI_Comm, comm)
ATTRIBUTES(MPI_Type, MPI_Datatype, datatype)
ATTRIBUTES(MPI_Win, MPI_Win, win)

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    hear(" %s", same(*type == MPI_INT && *count == 2));
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += 10 * ((int *)in)[i];
}

static void add_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    int narrow = (int)*count;
    add(in, inout, &narrow, type);
}

static void row_of_operation(MPI_Op op, const char *name)
{
    int in[2] = {1, 2}, inout[2] = {3, 4};
    MUST(MPI_Reduce_local(in, inout, 2, MPI_INT, op));
    hear(" %d,%d", inout[0], inout[1]);
    MUST(MPI_Op_free(&op));
    row_of(name);
}

static int query(void *state, MPI_Status *status)
{
    hear(" query %s", same(state == &extra));
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 1);
    status->MPI_SOURCE = MPI_PROC_NULL;
    status->MPI_TAG = MPI_ANY_TAG;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    hear(" free %s", same(state == &extra));
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    hear(" cancel %s %d", same(state == &extra), complete);
    return MPI_SUCCESS;
}

static void row_of_generalized_request(void)
{
    MPI_Request request;
    MPI_Status status;
    MUST(MPI_Grequest_start(query, release, cancel, &extra, &request));
    MUST(MPI_Cancel(&request));
    MUST(MPI_Grequest_complete(request));
    memset(&status, 0, sizeof status);
    MUST(MPI_Wait(&request, &status));
    said_to = 0;
    show_status("status", &status);
    hear("%s", said);
    row_of("MPI_Grequest_start");
}

static int datarep_extent(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    hear(" extent %s", same(type == MPI_INT && state == &extra));
    *extent = 4;
    return MPI_SUCCESS;
}

static int datarep_write(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset position, void *state)
{
    hear(" write %s", same(type == MPI_INT && count == 1 && position == 0 && state == &extra));
    memcpy(file, memory, sizeof(int));
    return MPI_SUCCESS;
}

static void row_of_data_representation(void)
{
    int number = 5;
    MPI_File file = (MPI_File)good[K_file];
    MUST(MPI_Register_datarep("golden callbacks", MPI_CONVERSION_FN_NULL, datarep_write, datarep_extent, &extra));
    MUST(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "golden callbacks", MPI_INFO_NULL));
    heard_to = 0; // how often it asks for the extent is free
    MUST(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    row_of("MPI_Register_datarep");
}

static void rows_of_callbacks(void)
{
    MPI_Op op;
    int number = 0;
    ROW_OF_ERROR_HANDLER(MPI_Comm, comm, MPI_Send(&number, 1, MPI_INT, 99, 0, (MPI_Comm)good[K_comm]));
    ROW_OF_ERROR_HANDLER(MPI_File, file, MPI_File_seek((MPI_File)good[K_file], -1, MPI_SEEK_SET));
    ROW_OF_ERROR_HANDLER(MPI_Session, session, MPI_Session_get_nth_pset((MPI_Session)good[K_session], MPI_INFO_NULL, 99, &number, NULL));
    ROW_OF_ERROR_HANDLER(MPI_Win, win, MPI_Win_lock(MPI_LOCK_SHARED, 99, 0, (MPI_Win)good[K_win]));
    row_of_comm_attributes((MPI_Comm)good[K_comm]);
    row_of_datatype_attributes(uncommitted);
    row_of_win_attributes((MPI_Win)good[K_win]);
    MUST(MPI_Op_create(add, 1, &op));
    row_of_operation(op, "MPI_Op_create");
    MUST(MPI_Op_create_c(add_c, 1, &op));
    row_of_operation(op, "MPI_Op_create_c");
    row_of_generalized_request();
    row_of_data_representation();
}
