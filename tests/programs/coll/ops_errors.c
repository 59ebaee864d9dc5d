// ranks: 1 2
// Wrong arguments of the functions for operations and of MPI_Reduce_local: class and text.
#include "../check.h"

static void nothing(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    (void)in, (void)inout, (void)length, (void)datatype;
}

static void operations(void) {
    MPI_Op op = MPI_SUM, stale;
    int commute;
    CHECK_ERROR(MPI_Op_free(&op), MPI_ERR_OP, "MPI_SUM is predefined");
    CHECK(op == MPI_SUM);
    op = MPI_OP_NULL;
    CHECK_ERROR(MPI_Op_free(&op), MPI_ERR_OP, "MPI_OP_NULL");
    CHECK_ERROR(MPI_Op_free(NULL), MPI_ERR_ARG, "MPI_Op_free");
    CHECK_ERROR(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG, "user_fn");
    CHECK_ERROR(MPI_Op_create_c(NULL, 1, &op), MPI_ERR_ARG, "user_fn");
    CHECK_ERROR(MPI_Op_create(nothing, 1, NULL), MPI_ERR_ARG, "MPI_Op_create");
    CHECK_ERROR(MPI_Op_commutative(MPI_OP_NULL, &commute), MPI_ERR_OP, "MPI_OP_NULL");
    CHECK_ERROR(MPI_Op_commutative(MPI_SUM, NULL), MPI_ERR_ARG, "commute");
    CHECK_ERROR(MPI_Op_commutative((MPI_Op)MPI_INT, &commute), MPI_ERR_OP, "MPI_Op_commutative");
    OK(MPI_Op_create(nothing, 1, &op));
    stale = op;
    OK(MPI_Op_free(&op));
    CHECK_ERROR(MPI_Op_commutative(stale, &commute), MPI_ERR_OP, "has been freed");
    CHECK_ERROR(MPI_Op_free(&stale), MPI_ERR_OP, "has been freed");
    CHECK(MPI_Op_fromint(MPI_Op_toint(stale)) != MPI_OP_NULL);
}

static void reduce_local(void) {
    double in[4] = {1, 2, 3, 4}, inout[4] = {5, 6, 7, 8};
    MPI_Datatype type, mixed;
    CHECK_ERROR(MPI_Reduce_local(in, inout, -1, MPI_DOUBLE, MPI_SUM), MPI_ERR_COUNT, "negative");
    CHECK_ERROR(MPI_Reduce_local_c(in, inout, -1, MPI_DOUBLE, MPI_SUM), MPI_ERR_COUNT, "MPI_Reduce_local_c");
    CHECK_ERROR(MPI_Reduce_local(in, inout, 4, MPI_DOUBLE, MPI_OP_NULL), MPI_ERR_OP, "MPI_OP_NULL");
    CHECK_ERROR(MPI_Reduce_local(in, inout, 4, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    CHECK_ERROR(MPI_Reduce_local(in, inout, 4, MPI_DOUBLE, MPI_REPLACE), MPI_ERR_OP, "MPI_REPLACE");
    CHECK_ERROR(MPI_Reduce_local(in, inout, 4, MPI_DOUBLE, MPI_NO_OP), MPI_ERR_OP, "MPI_NO_OP");
    CHECK_ERROR(MPI_Reduce_local(in, inout, 4, MPI_DOUBLE, MPI_BAND), MPI_ERR_OP, "MPI_DOUBLE");
    CHECK_ERROR(MPI_Reduce_local(NULL, inout, 4, MPI_DOUBLE, MPI_SUM), MPI_ERR_BUFFER, "null");
    CHECK_ERROR(MPI_Reduce_local(in, NULL, 4, MPI_DOUBLE, MPI_SUM), MPI_ERR_BUFFER, "null");
    CHECK_ERROR(MPI_Reduce_local(MPI_IN_PLACE, inout, 4, MPI_DOUBLE, MPI_SUM), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Reduce_local(in, MPI_IN_PLACE, 4, MPI_DOUBLE, MPI_SUM), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Reduce_local(inout, inout, 4, MPI_DOUBLE, MPI_SUM), MPI_ERR_BUFFER, "inoutbuf");
    OK(MPI_Type_contiguous(2, MPI_DOUBLE, &type));
    CHECK_ERROR(MPI_Reduce_local(in, inout, 2, type, MPI_SUM), MPI_ERR_TYPE, "committed");
    OK(MPI_Type_free(&type));
    MPI_Datatype members[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Aint displacements[2] = {0, 8};
    int lengths[2] = {1, 1};
    OK(MPI_Type_create_struct(2, lengths, displacements, members, &mixed));
    OK(MPI_Type_commit(&mixed));
    CHECK_ERROR(MPI_Reduce_local(in, inout, 1, mixed, MPI_SUM), MPI_ERR_OP, "MPI_SUM");
    OK(MPI_Type_free(&mixed));
    for (int i = 0; i < 4; i++) CHECK(inout[i] == i + 5 && in[i] == i + 1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    operations();
    reduce_local();
    return finish();
}
