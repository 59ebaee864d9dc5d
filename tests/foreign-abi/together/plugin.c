/* A plugin for one ABI: compiled three times, with the header and the library of each. */
#include "plugin.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING(x) #x
#define NAME(x) STRING(x)
#define REQUIRE(condition, ...)                                                     \
    do {                                                                            \
        if (!(condition)) {                                                         \
            static char text[512];                                                  \
            int length = snprintf(text, sizeof text, "%s: ", #condition);           \
            snprintf(text + length, sizeof text - (size_t)length, " " __VA_ARGS__); \
            return text;                                                            \
        }                                                                           \
    } while (0)

static int calls, extents, keyval = MPI_KEYVAL_INVALID, key_at_end = MPI_KEYVAL_INVALID, size;
static MPI_Request pending;
static MPI_Datatype own_int;

static int at_end(MPI_Comm comm, int key, void *value, void *extra)
{
    int result = -1;
    MPI_Comm_compare(comm, MPI_COMM_SELF, &result);
    calls += result == MPI_IDENT && key == key_at_end && value == &key_at_end && extra == &calls;
    return MPI_SUCCESS;
}

/* A data representation: the bytes of each integer with all bits turned. */
static int turn(int *to, const int *from, MPI_Datatype datatype, int count, MPI_Offset position, void *extra)
{
    (void)position;
    if (datatype != MPI_INT || extra != &extents) return MPI_ERR_OTHER;
    for (int i = 0; i < count; i++) to[i] = ~from[i];
    calls++;
    return MPI_SUCCESS;
}

static int on_read(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    return turn((int *)user + position, file, datatype, count, position, extra);
}

static int on_write(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *extra)
{
    return turn(file, (int *)user + position, datatype, count, position, extra);
}

static int on_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    if (datatype != MPI_INT || extra != &extents) return MPI_ERR_OTHER;
    *extent = sizeof(int);
    extents++;
    return MPI_SUCCESS;
}

static int start(void)
{
    int flag, rank;
    MPI_Initialized(&flag);
    if (!flag) MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Register_datarep(NAME(ABI), on_read, on_write, on_extent, &extents);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key_at_end, &calls);
    MPI_Comm_set_attr(MPI_COMM_SELF, key_at_end, &key_at_end);
    return rank;
}

static void end(void)
{
    MPI_Finalize();
}

/* The functions, not the macros that the header may have for them. */
#define PREDEFINED_HANDLES(X)                                                                                              \
    X(Comm, MPI_COMM_WORLD) X(Comm, MPI_COMM_SELF) X(Comm, MPI_COMM_NULL) X(Group, MPI_GROUP_NULL) X(Group, MPI_GROUP_EMPTY) \
    X(Info, MPI_INFO_NULL) X(Info, MPI_INFO_ENV) X(Request, MPI_REQUEST_NULL) X(Message, MPI_MESSAGE_NULL)                   \
    X(Message, MPI_MESSAGE_NO_PROC) X(Win, MPI_WIN_NULL) X(File, MPI_FILE_NULL) X(Errhandler, MPI_ERRHANDLER_NULL)           \
    X(Errhandler, MPI_ERRORS_RETURN) X(Errhandler, MPI_ERRORS_ARE_FATAL) X(Op, MPI_OP_NULL) X(Op, MPI_SUM) X(Op, MPI_PROD)   \
    X(Op, MPI_MAX) X(Op, MPI_MIN) X(Op, MPI_LAND) X(Op, MPI_BXOR) X(Op, MPI_MAXLOC) X(Op, MPI_REPLACE) X(Op, MPI_NO_OP)      \
    X(Type, MPI_DATATYPE_NULL) X(Type, MPI_CHAR) X(Type, MPI_BYTE) X(Type, MPI_INT) X(Type, MPI_LONG) X(Type, MPI_DOUBLE)    \
    X(Type, MPI_FLOAT) X(Type, MPI_UINT64_T) X(Type, MPI_AINT) X(Type, MPI_COUNT) X(Type, MPI_PACKED)                        \
    X(Type, MPI_DOUBLE_INT) X(Type, MPI_2INT) X(Type, MPI_INTEGER) X(Type, MPI_DOUBLE_PRECISION)                             \
    X(Type, MPI_2DOUBLE_PRECISION) X(Type, MPI_C_DOUBLE_COMPLEX)

static int list_predefined(int *integers)
{
    int count = 0;
#define LIST(kind, handle) integers[count++] = (MPI_##kind##_c2f)(handle);
    PREDEFINED_HANDLES(LIST)
    return count;
}

static const char *check_predefined(const int *theirs)
{
    int i = 0;
#define CHECK(kind, handle) \
    if ((MPI_##kind##_f2c)(theirs[i++]) != handle) return #handle;
    PREDEFINED_HANDLES(CHECK)
    return NULL;
}

/* ---- functions that MPI calls, whichever plugin has made the call ---- */

static void twice_the_sum(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    /* With a handle of another ABI the result is wrong. */
    int factor = *datatype == MPI_INT || *datatype == own_int ? 2 : 0;
    for (int i = 0; i < *length; i++) ((int *)inout)[i] = factor * (((int *)inout)[i] + ((int *)in)[i]);
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int class, comm_size = 0;
    MPI_Error_class(*code, &class);
    MPI_Comm_size(*comm, &comm_size);
    calls += class == MPI_ERR_RANK && comm_size == size;
}

static int on_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    int comm_size = 0;
    MPI_Comm_size(comm, &comm_size);
    calls += comm_size == size && key == keyval && extra == &keyval && value == &size;
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    int comm_size = 0;
    MPI_Comm_size(comm, &comm_size);
    calls += comm_size == size && key == keyval && extra == &keyval && value == &size;
    return MPI_SUCCESS;
}

static int on_query(void *extra, MPI_Status *status)
{
    calls += extra == &pending;
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_PROC_NULL;
    status->MPI_TAG = 77;
    return MPI_SUCCESS;
}

static int on_free(void *extra)
{
    calls += extra == &pending;
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

/* ---- objects of one ABI, used in another ---- */

static void make(int *made, const char *name)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(on_copy, on_delete, &keyval, &keyval);
    MPI_Comm_set_attr(comm, keyval, &size);
    /* The functions of a keyval that was freed serve the attributes that are left. */
    int freed = keyval;
    MPI_Comm_free_keyval(&freed);
    MPI_Datatype vector;
    MPI_Type_vector(3, 2, 4, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_dup(MPI_INT, &own_int);
    MPI_Op op, late_op;
    MPI_Op_create(twice_the_sum, 1, &op);
    MPI_Op_create(twice_the_sum, 1, &late_op);
    MPI_Group group;
    MPI_Comm_group(comm, &group);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "plugin", NAME(ABI));
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(on_error, &errhandler);
    MPI_Grequest_start(on_query, on_free, on_cancel, &pending, &pending);
    static int memory[4];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win);
    MPI_File file;
    MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);

    made[COMM] = (MPI_Comm_c2f)(comm);
    made[DATATYPE] = (MPI_Type_c2f)(vector);
    made[INT] = (MPI_Type_c2f)(own_int);
    made[OP] = (MPI_Op_c2f)(op);
    made[LATE_OP] = (MPI_Op_c2f)(late_op);
    made[GROUP] = (MPI_Group_c2f)(group);
    made[INFO] = (MPI_Info_c2f)(info);
    made[ERRHANDLER] = (MPI_Errhandler_c2f)(errhandler);
    made[REQUEST] = (MPI_Request_c2f)(pending);
    made[WIN] = (MPI_Win_c2f)(win);
    made[FILE_] = MPI_File_c2f(file);
    made[SESSION] = (MPI_Session_c2f)(session);
}

static const char *use(int *made)
{
    MPI_Comm comm = (MPI_Comm_f2c)(made[COMM]);
    int result = -1, rank, length;
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    REQUIRE(result == MPI_CONGRUENT, "%d", result);
    MPI_Comm_rank(comm, &rank);

    /* A message in the vector type, from the last rank to the first, between two ABIs. */
    MPI_Datatype vector = (MPI_Type_f2c)(made[DATATYPE]);
    MPI_Type_size(vector, &length);
    REQUIRE(length == 24, "%d", length);
    int sent[12], received[6] = {0};
    for (int i = 0; i < 12; i++) sent[i] = 100 * rank + i;
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(sent, 1, vector, (rank + 1) % size, 5, comm, &request);
    MPI_Recv(received, 6, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int left = (rank + size - 1) % size;
    REQUIRE(status.MPI_SOURCE == left && status.MPI_TAG == 5, "%d %d", status.MPI_SOURCE, status.MPI_TAG);
    REQUIRE(received[1] == 100 * left + 1 && received[2] == 100 * left + 4, "%d %d", received[1], received[2]);

    /* The other plugin's reduction. */
    MPI_Op op = (MPI_Op_f2c)(made[OP]);
    int in = 3, inout = 4;
    MPI_Reduce_local(&in, &inout, 1, MPI_INT, op);
    REQUIRE(inout == 14, "%d", inout);

    /* Another one, freed while nonblocking reductions go on: by messages and, after a blocking call, on a board. */
    MPI_Request sums[2];
    int mine = rank + 1, both[2] = {-1, -1};
    MPI_Op late_op = (MPI_Op_f2c)(made[LATE_OP]);
    MPI_Iallreduce(&mine, &both[0], 1, MPI_INT, late_op, comm, &sums[0]);
    MPI_Barrier(comm);
    MPI_Iallreduce(&mine, &both[1], 1, MPI_INT, late_op, comm, &sums[1]);
    MPI_Op_free(&late_op);
    REQUIRE(late_op == MPI_OP_NULL, "is freed");
    MPI_Waitall(2, sums, MPI_STATUSES_IGNORE);
    REQUIRE(size == 2 && both[0] == 6 && both[1] == 6, "%d %d", both[0], both[1]);

    MPI_Group_size((MPI_Group_f2c)(made[GROUP]), &length);
    REQUIRE(length == size, "%d", length);

    char value[32] = "";
    int flag = 0;
    MPI_Info_get((MPI_Info_f2c)(made[INFO]), "plugin", sizeof value - 1, value, &flag);
    REQUIRE(flag && strlen(value) > 3, "%s", value);

    /* Its error handler, for an error of this plugin. */
    MPI_Errhandler errhandler = (MPI_Errhandler_f2c)(made[ERRHANDLER]);
    MPI_Comm_set_errhandler(comm, errhandler);
    MPI_Errhandler_free(&errhandler);
    int code = MPI_Send(&in, 1, MPI_INT, size, 0, comm), class = -1;
    MPI_Error_class(code, &class);
    REQUIRE(class == MPI_ERR_RANK, "%d", class);

    /* Its functions of an attribute. */
    MPI_Comm copy;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&copy);

    MPI_Request grequest = (MPI_Request_f2c)(made[REQUEST]);
    MPI_Grequest_complete(grequest);
    MPI_Wait(&grequest, &status);
    MPI_Get_count(&status, MPI_INT, &length);
    REQUIRE(grequest == MPI_REQUEST_NULL && length == 5 && status.MPI_TAG == 77, "%d %d", length, status.MPI_TAG);
    REQUIRE(status.MPI_SOURCE == MPI_PROC_NULL, "%d", status.MPI_SOURCE);

    MPI_Win win = (MPI_Win_f2c)(made[WIN]);
    int put = 10 + rank, *memory, *model;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &memory, &flag);
    REQUIRE(flag, "MPI_WIN_BASE");
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    REQUIRE(flag && (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE), "%d", *model);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&put, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    REQUIRE(memory[1] == 10 + left, "%d", memory[1]);

    MPI_File file = MPI_File_f2c(made[FILE_]);
    int mode = 0, read = -1;
    MPI_File_get_amode(file, &mode);
    REQUIRE(mode == (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE), "%d", mode);
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof put, &put, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(comm);
    MPI_File_sync(file);
    MPI_File_read_at_all(file, left * (MPI_Offset)sizeof put, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
    REQUIRE(read == 10 + left, "%d", read);
    /* The data representation of the other plugin; its name is in the info object. */
    int found = MPI_File_set_view(file, 0, MPI_INT, MPI_INT, value, MPI_INFO_NULL), raw = -1;
    REQUIRE(found == MPI_SUCCESS, "%d", found);
    MPI_File_write_at(file, size + rank, &put, 1, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &length);
    REQUIRE(length == 1, "%d", length);
    MPI_File_read_at(file, size + rank, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
    REQUIRE(read == put, "%d", read);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_read_at(file, size + rank, &raw, 1, MPI_INT, MPI_STATUS_IGNORE);
    REQUIRE(raw == ~put, "%d", raw);

    MPI_Group world;
    MPI_Session session = (MPI_Session_f2c)(made[SESSION]);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Group_size(world, &length);
    MPI_Group_free(&world);
    REQUIRE(length == size, "%d", length);
    return NULL;
}

static void release(int *made)
{
    MPI_Session session = (MPI_Session_f2c)(made[SESSION]);
    MPI_Session_finalize(&session);
    MPI_File file = MPI_File_f2c(made[FILE_]);
    MPI_File_close(&file);
    MPI_Win win = (MPI_Win_f2c)(made[WIN]);
    MPI_Win_free(&win);
    MPI_Info info = (MPI_Info_f2c)(made[INFO]);
    MPI_Info_free(&info);
    MPI_Group group = (MPI_Group_f2c)(made[GROUP]);
    MPI_Group_free(&group);
    MPI_Op op = (MPI_Op_f2c)(made[OP]);
    MPI_Op_free(&op);
    MPI_Datatype vector = (MPI_Type_f2c)(made[DATATYPE]);
    MPI_Type_free(&vector);
    MPI_Datatype integer = (MPI_Type_f2c)(made[INT]);
    MPI_Type_free(&integer);
    MPI_Comm comm = (MPI_Comm_f2c)(made[COMM]);
    MPI_Comm_free(&comm);
}

static int fired(void)
{
    int were = calls;
    calls = 0;
    return were;
}

const struct plugin plugin = {NAME(ABI), start, end, list_predefined, check_predefined, make, use, release, fired};

/* For mpi4py: the sum of the ranks of a communicator that is given as an integer of Fortran, in this ABI. */
int sum_of_ranks(int integer)
{
    MPI_Comm comm = (MPI_Comm_f2c)(integer);
    int rank, sum = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

/* A communicator with the ranks in the opposite order, as an integer of Fortran. */
int reversed(int integer)
{
    MPI_Comm comm = (MPI_Comm_f2c)(integer), new;
    int rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split(comm, 0, -rank, &new);
    return (MPI_Comm_c2f)(new);
}
