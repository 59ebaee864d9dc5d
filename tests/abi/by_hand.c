/* Sizes, offsets and some values of mpi.h, written here by hand from the standard's chapter on the ABI and its
 * summary of constants: no table and no generator stands behind them. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

static int failures = 0;

static void check(int right, const char *what, int line)
{
    if (!right) {
        failures++;
        fprintf(stderr, "by_hand.c:%d: %s does not hold\n", line, what);
    }
}

#define CHECK(what) check(what, #what, __LINE__)
#define HANDLE(name, number) CHECK((intptr_t)(name) == (number))

/* Functions of the types that callbacks must have: assigning them is the check. */
static void user(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype)
{
    (void)invec, (void)inoutvec, (void)len, (void)datatype;
}
static void user_c(void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype)
{
    (void)invec, (void)inoutvec, (void)len, (void)datatype;
}
static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}
static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_SUCCESS;
}
static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void sizes_and_offsets(void)
{
    CHECK(sizeof(MPI_Aint) == sizeof(void *));
    CHECK(sizeof(MPI_Offset) == 8);
    CHECK(sizeof(MPI_Count) == 8);
    CHECK((MPI_Aint)-1 < 0);
    CHECK((MPI_Offset)-1 < 0);
    CHECK((MPI_Count)-1 < 0);
    CHECK(sizeof(MPI_Status) == 32);
    CHECK(offsetof(MPI_Status, MPI_SOURCE) == 0);
    CHECK(offsetof(MPI_Status, MPI_TAG) == 4);
    CHECK(offsetof(MPI_Status, MPI_ERROR) == 8);
    CHECK(offsetof(MPI_Status, MPI_internal) == 12);
    CHECK(sizeof(MPI_Comm) == sizeof(void *));
    CHECK(sizeof(MPI_Request) == sizeof(void *));
    CHECK(sizeof(MPI_T_cb_safety) == sizeof(int));
    CHECK(sizeof(MPI_T_source_order) == sizeof(int));
}

static void handles(void)
{
    HANDLE(MPI_OP_NULL, 0x20);
    HANDLE(MPI_SUM, 0x21);
    HANDLE(MPI_NO_OP, 0x3d);
    HANDLE(MPI_COMM_NULL, 0x100);
    HANDLE(MPI_COMM_WORLD, 0x101);
    HANDLE(MPI_COMM_SELF, 0x102);
    HANDLE(MPI_GROUP_NULL, 0x108);
    HANDLE(MPI_WIN_NULL, 0x110);
    HANDLE(MPI_FILE_NULL, 0x118);
    HANDLE(MPI_SESSION_NULL, 0x120);
    HANDLE(MPI_MESSAGE_NO_PROC, 0x129);
    HANDLE(MPI_INFO_ENV, 0x131);
    HANDLE(MPI_ERRORS_ARE_FATAL, 0x141);
    HANDLE(MPI_ERRORS_RETURN, 0x143);
    HANDLE(MPI_REQUEST_NULL, 0x180);
    HANDLE(MPI_DATATYPE_NULL, 0x200);
    HANDLE(MPI_INT, 0x209);
    HANDLE(MPI_DOUBLE, 0x214);
    HANDLE(MPI_2INT, 0x22b);
    HANDLE(MPI_CHAR, 0x243);
    HANDLE(MPI_BYTE, 0x247);
    HANDLE(MPI_INT64_T, 0x258);
    HANDLE(MPI_COMPLEX32, 0x2eb);
    HANDLE(MPI_LONG_LONG_INT, 0x20b);
    HANDLE(MPI_C_COMPLEX, 0x212);
}

static void numbers(void)
{
    CHECK(MPI_VERSION == 5 && MPI_SUBVERSION == 0);
    CHECK(MPI_ABI_VERSION == 1 && MPI_ABI_SUBVERSION == 0);
    CHECK(MPI_ERR_TRUNCATE == 15);
    CHECK(MPI_ERR_UNSUPPORTED_OPERATION == 55);
    CHECK(MPI_ERR_ABI == 62);
    CHECK(MPI_ERR_LASTCODE == 0x3fff);
    CHECK(MPI_T_ERR_CANNOT_INIT == 1001);
    CHECK(MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2 && MPI_PROC_NULL == -3 && MPI_ROOT == -4);
    CHECK(MPI_UNDEFINED == -32766);
    CHECK(MPI_THREAD_SINGLE == 0 && MPI_THREAD_MULTIPLE == 4096);
    CHECK(MPI_KEYVAL_INVALID == 0 && MPI_TAG_UB == 501);
    CHECK(MPI_MAX_ERROR_STRING == 512 && MPI_MAX_PROCESSOR_NAME == 256);
    CHECK(MPI_BSEND_OVERHEAD == 512);
    CHECK(MPI_DISPLACEMENT_CURRENT == -1);
    CHECK((intptr_t)MPI_BOTTOM == 0 && (intptr_t)MPI_IN_PLACE == 1 && (intptr_t)MPI_BUFFER_AUTOMATIC == 2);
    CHECK(MPI_STATUS_IGNORE == NULL && MPI_STATUSES_IGNORE == NULL);
    CHECK((intptr_t)MPI_UNWEIGHTED == 10 && (intptr_t)MPI_WEIGHTS_EMPTY == 11);
    CHECK(MPI_COMM_NULL_COPY_FN == NULL && (intptr_t)MPI_COMM_DUP_FN == 1);
}

#if MPI_VERSION < 5 || !defined(MPI_MAX_OBJECT_NAME)
#error "constants must be visible to the preprocessor"
#endif

int main(void)
{
    MPI_User_function *user_fn = user;
    MPI_User_function_c *user_fn_c = user_c;
    MPI_Comm_errhandler_function *handler = on_error;
    MPI_Comm_errhandler_fn *older_name = on_error;
    MPI_Comm_copy_attr_function *copy_fn = copy;
    MPI_Grequest_cancel_function *cancel_fn = cancel;
    CHECK(user_fn != NULL && user_fn_c != NULL && handler == older_name && copy_fn != NULL && cancel_fn != NULL);
    sizes_and_offsets();
    handles();
    numbers();
    return failures > 0;
}
