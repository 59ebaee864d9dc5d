// ranks: 1 2 4
// When a call that makes an object fails, it stores a null handle.
#include "../check.h"

// Starts as a handle that means nothing.
#define FAILS(type, null, expected, call)                                    \
    do {                                                                     \
        type made;                                                           \
        memset(&made, 0x5a, sizeof made);                                    \
        CHECK_CLASS(call, expected);                                         \
        CHECK(made == null);                                                 \
    } while (0)

static int refuse(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static int refuse_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag) {
    (void)type, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    int dims[2] = {size, 2}, periods[2] = {0, 0}, value = 0, key, rank_of[1] = {size};
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Group group;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_group(comm, &group));
    FAILS(MPI_Comm, MPI_COMM_NULL, MPI_ERR_DIMS, MPI_Cart_create(comm, 2, dims, periods, 0, &made));
    FAILS(MPI_Comm, MPI_COMM_NULL, MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &made));
    FAILS(MPI_Group, MPI_GROUP_NULL, MPI_ERR_RANK, MPI_Group_incl(group, 1, rank_of, &made));
    FAILS(MPI_Datatype, MPI_DATATYPE_NULL, MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &made));
    FAILS(MPI_Info, MPI_INFO_NULL, MPI_ERR_INFO, MPI_Info_dup(MPI_INFO_NULL, &made));
    FAILS(MPI_Request, MPI_REQUEST_NULL, MPI_ERR_TAG, MPI_Isend(&value, 1, MPI_INT, 0, -5, comm, &made));
    FAILS(MPI_Request, MPI_REQUEST_NULL, MPI_ERR_RANK, MPI_Irecv(&value, 1, MPI_INT, size, 0, comm, &made));
    FAILS(MPI_Request, MPI_REQUEST_NULL, MPI_ERR_ROOT, MPI_Ibcast(&value, 1, MPI_INT, size, comm, &made));
    FAILS(MPI_Win, MPI_WIN_NULL, MPI_ERR_COMM, MPI_Win_create(&value, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &made));
    // A copy function that says no.
    OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(comm, key, NULL));
    FAILS(MPI_Comm, MPI_COMM_NULL, MPI_ERR_OTHER, MPI_Comm_dup(comm, &made));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Type_dup(MPI_INT, &type));
    OK(MPI_Type_create_keyval(refuse_type, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Type_set_attr(type, key, NULL));
    FAILS(MPI_Datatype, MPI_DATATYPE_NULL, MPI_ERR_OTHER, MPI_Type_dup(type, &made));
    OK(MPI_Type_free_keyval(&key));
    OK(MPI_Type_free(&type));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&comm));
    return finish();
}
