// ranks: 1
// The constructors and queries of MPI-1 that old programs call, and its markers.
#include "layout.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Datatype t, two;
    MPI_Aint value = -1;
    int lens[] = {2, 1};
    MPI_Aint disps[] = {16, -8};

    OK(MPI_Type_hvector(2, 1, 12, MPI_INT, &t));
    CHECK_INTS(committed(t), 0, 3);
    OK(MPI_Type_extent(t, &value));
    CHECK_EQ(value, 16);
    OK(MPI_Type_free(&t));

    OK(MPI_Type_hindexed(2, lens, disps, MPI_INT, &t));
    CHECK_INTS(committed(t), 4, 5, -2);
    OK(MPI_Type_lb(t, &value));
    CHECK_EQ(value, -8);
    OK(MPI_Type_ub(t, &value));
    CHECK_EQ(value, 24);
    OK(MPI_Type_free(&t));

    // An int between markers, and what replication makes of them.
    int ones[] = {1, 1, 1};
    MPI_Aint marks[] = {-3, 0, 6};
    MPI_Datatype members[] = {MPI_LB, MPI_INT, MPI_UB};
    OK(MPI_Type_struct(3, ones, marks, members, &t));
    CHECK_BOUNDS(t, 4, -3, 9, 0, 4);
    OK(MPI_Type_contiguous(2, t, &two));
    CHECK_BOUNDS(two, 8, -3, 18, 0, 13);
    // The contents show the markers, by their own handles.
    int integers[4];
    MPI_Aint addresses[3];
    MPI_Datatype types[3];
    OK(MPI_Type_get_contents(t, 4, 3, 3, integers, addresses, types));
    CHECK(types[0] == MPI_LB && types[1] == MPI_INT && types[2] == MPI_UB);
    OK(MPI_Type_free(&two));
    OK(MPI_Type_free(&t));
    // They answer questions like other predefined types.
    char name[MPI_MAX_OBJECT_NAME];
    int n, combiner;
    OK(MPI_Type_get_name(MPI_LB, name, &n));
    CHECK(n == 6 && !strcmp(name, "MPI_LB"));
    OK(MPI_Type_get_name(MPI_UB, name, &n));
    CHECK(n == 6 && !strcmp(name, "MPI_UB"));
    OK(MPI_Type_get_envelope(MPI_UB, &integers[0], &integers[1], &integers[2], &combiner));
    CHECK(integers[0] == 0 && integers[1] == 0 && integers[2] == 0 && combiner == MPI_COMBINER_NAMED);
    OK(MPI_Type_size(MPI_LB, &n));
    CHECK_EQ(n, 0);
    OK(MPI_Type_extent(MPI_UB, &value));
    CHECK_EQ(value, 0);
    // The newer constructor takes them too; nothing else does.
    OK(MPI_Type_create_struct(3, ones, marks, members, &t));
    CHECK_BOUNDS(t, 4, -3, 9, 0, 4);
    OK(MPI_Type_free(&t));
    CHECK_CLASS(MPI_Type_contiguous(2, MPI_UB, &t), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Send(&n, 1, MPI_LB, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_TYPE);

    int place;
    OK(MPI_Address(&place, &value));
    CHECK_EQ(value, (MPI_Aint)&place);
    CHECK_CLASS(MPI_Type_extent(MPI_DATATYPE_NULL, &value), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_extent(MPI_INT, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_hvector(-1, 1, 12, MPI_INT, &t), MPI_ERR_COUNT);
    return finish();
}
