// ranks: 1 2 3 4 7 8
// Wrong arguments of the communicator functions: the class, and that the text names the call. No
// process waits for another here, except where all make the same mistake.
#include "../check.h"

int main(int argc, char **argv) {
    MPI_Comm comm = MPI_COMM_NULL, stale, wrong = (MPI_Comm)MPI_GROUP_EMPTY;
    MPI_Group world, pair;
    MPI_Request request;
    MPI_Info info;
    int n, zero = 0;
    start(&argc, &argv);
    return_errors();
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    stale = comm;
    OK(MPI_Comm_free(&comm));
    MPI_Comm bad[] = {MPI_COMM_NULL, wrong, stale, (MPI_Comm)12345678};
    for (int i = 0; i < 4; i++) {
        MPI_Comm b = bad[i];
        CHECK_ERROR(MPI_Comm_dup(b, &comm), MPI_ERR_COMM, "MPI_Comm_dup");
        CHECK_ERROR(MPI_Comm_dup_with_info(b, MPI_INFO_NULL, &comm), MPI_ERR_COMM, "MPI_Comm_dup_with_info");
        CHECK_ERROR(MPI_Comm_idup(b, &comm, &request), MPI_ERR_COMM, "MPI_Comm_idup");
        CHECK_ERROR(MPI_Comm_idup_with_info(b, MPI_INFO_NULL, &comm, &request), MPI_ERR_COMM, "MPI_Comm_idup_with_info");
        CHECK_ERROR(MPI_Comm_create(b, MPI_GROUP_EMPTY, &comm), MPI_ERR_COMM, "MPI_Comm_create");
        CHECK_ERROR(MPI_Comm_create_group(b, MPI_GROUP_EMPTY, 0, &comm), MPI_ERR_COMM, "MPI_Comm_create_group");
        CHECK_ERROR(MPI_Comm_split(b, 0, 0, &comm), MPI_ERR_COMM, "MPI_Comm_split");
        CHECK_ERROR(MPI_Comm_split_type(b, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm), MPI_ERR_COMM,
                    "MPI_Comm_split_type");
        CHECK_ERROR(MPI_Comm_compare(b, MPI_COMM_WORLD, &n), MPI_ERR_COMM, "MPI_Comm_compare");
        CHECK_ERROR(MPI_Comm_compare(MPI_COMM_WORLD, b, &n), MPI_ERR_COMM, "MPI_Comm_compare");
        CHECK_ERROR(MPI_Comm_test_inter(b, &n), MPI_ERR_COMM, "MPI_Comm_test_inter");
        CHECK_ERROR(MPI_Comm_remote_size(b, &n), MPI_ERR_COMM, "MPI_Comm_remote_size");
        CHECK_ERROR(MPI_Comm_remote_group(b, &world), MPI_ERR_COMM, "MPI_Comm_remote_group");
        CHECK_ERROR(MPI_Comm_group(b, &world), MPI_ERR_COMM, "MPI_Comm_group");
        CHECK_ERROR(MPI_Comm_set_info(b, MPI_INFO_NULL), MPI_ERR_COMM, "MPI_Comm_set_info");
        CHECK_ERROR(MPI_Comm_get_info(b, &info), MPI_ERR_COMM, "MPI_Comm_get_info");
        CHECK_ERROR(MPI_Intercomm_merge(b, 0, &comm), MPI_ERR_COMM, "MPI_Intercomm_merge");
        CHECK_ERROR(MPI_Intercomm_create(b, 0, MPI_COMM_WORLD, 0, 0, &comm), MPI_ERR_COMM, "MPI_Intercomm_create");
        comm = b;
        CHECK_ERROR(MPI_Comm_free(&comm), MPI_ERR_COMM, "MPI_Comm_free");
        CHECK(comm == b);
        CHECK_ERROR(MPI_Comm_disconnect(&comm), MPI_ERR_COMM, "MPI_Comm_disconnect");
    }
    comm = MPI_COMM_WORLD;
    CHECK_ERROR(MPI_Comm_free(&comm), MPI_ERR_COMM, "MPI_Comm_free");
    comm = MPI_COMM_SELF;
    CHECK_ERROR(MPI_Comm_disconnect(&comm), MPI_ERR_COMM, "MPI_Comm_disconnect");
    CHECK(comm == MPI_COMM_SELF);
    CHECK_ERROR(MPI_Comm_free(NULL), MPI_ERR_ARG, "MPI_Comm_free");
    CHECK_ERROR(MPI_Comm_dup(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_dup");
    CHECK_ERROR(MPI_Comm_idup(MPI_COMM_WORLD, &comm, NULL), MPI_ERR_ARG, "MPI_Comm_idup");
    CHECK_ERROR(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, NULL), MPI_ERR_ARG, "MPI_Comm_split");
    CHECK_ERROR(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &comm), MPI_ERR_ARG, "MPI_Comm_split");
    CHECK_ERROR(MPI_Comm_set_info(MPI_COMM_WORLD, (MPI_Info)MPI_COMM_WORLD), MPI_ERR_INFO, "MPI_Comm_set_info");
    CHECK_ERROR(MPI_Comm_get_info(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_get_info");
    CHECK_ERROR(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm), MPI_ERR_GROUP, "MPI_Comm_create");
    CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &comm), MPI_ERR_GROUP, "MPI_Comm_create_group");
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, world, -1, &comm), MPI_ERR_TAG, "MPI_Comm_create_group");
    CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, world, MPI_ANY_TAG, &comm), MPI_ERR_TAG, "MPI_Comm_create_group");
    if (size > 1) {
        // A group that is not within the communicator.
        CHECK_ERROR(MPI_Comm_create(MPI_COMM_SELF, world, &comm), MPI_ERR_GROUP, "MPI_Comm_create");
        CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_SELF, world, 0, &comm), MPI_ERR_GROUP, "MPI_Comm_create_group");
    }
    if (size > 1 && rank < 2) {
        // The members make different objects: one of them gets an error.
        int list[2] = {0, 1};
        OK(MPI_Group_incl(world, 2, list, &pair));
        int code;
        if (rank == 0) {
            code = MPI_Comm_create_group(MPI_COMM_WORLD, pair, 3, &comm);
            CHECK_EQ(code, MPI_SUCCESS);
            OK(MPI_Comm_free(&comm));
        } else if (size > 2) {
            int three[3] = {0, 1, 2};
            MPI_Group other;
            OK(MPI_Group_incl(world, 3, three, &other));
            CHECK_ERROR(MPI_Comm_create_group(MPI_COMM_WORLD, other, 3, &comm), MPI_ERR_ARG, "MPI_Comm_create_group");
            OK(MPI_Group_free(&other));
        } else {
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, pair, 3, &comm));
            OK(MPI_Comm_free(&comm));
        }
        OK(MPI_Group_free(&pair));
    }
    // The object's own handler gets the error.
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_name(comm, "a name of its own"));
    int code = MPI_Send(&zero, 1, MPI_INT, 7, 0, comm);
    CHECK_EQ(check_class(code), MPI_ERR_RANK);
    CHECK_TEXT(code, "a name of its own");
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&world));
    return finish();
}
