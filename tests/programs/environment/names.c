// ranks: 1 2 3 4 7 8
// Names of communicators, as far as messages show them; how two communicators compare.
#include "../check.h"

static void expect(MPI_Comm comm, const char *name) {
    char got[MPI_MAX_OBJECT_NAME];
    int length = -1;
    OK(MPI_Comm_get_name(comm, got, &length));
    if (strcmp(got, name)) CHECK_FAIL("the name is \"%s\", not \"%s\"", got, name);
    CHECK_EQ(length, strlen(name));
}

int main(int argc, char **argv) {
    char longest[MPI_MAX_OBJECT_NAME + 10], got[MPI_MAX_OBJECT_NAME];
    int value = 0, result = -1, length = -1;
    start(&argc, &argv);
    return_errors();
    expect(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    expect(MPI_COMM_SELF, "MPI_COMM_SELF");
    expect(MPI_COMM_NULL, "MPI_COMM_NULL");
    OK(MPI_Comm_set_name(MPI_COMM_WORLD, "  my w\xf6rld")); // any bytes
    expect(MPI_COMM_WORLD, "  my w\xf6rld");
    OK(MPI_Comm_set_name(MPI_COMM_WORLD, "the ocean"));
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD), MPI_ERR_RANK, "the ocean");
    OK(MPI_Comm_set_name(MPI_COMM_WORLD, ""));
    expect(MPI_COMM_WORLD, "");
    expect(MPI_COMM_SELF, "MPI_COMM_SELF");
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = 0;
    OK(MPI_Comm_set_name(MPI_COMM_SELF, longest)); // cut
    longest[MPI_MAX_OBJECT_NAME - 1] = 0;
    expect(MPI_COMM_SELF, longest);
    CHECK_ERROR(MPI_Comm_set_name(MPI_COMM_NULL, "x"), MPI_ERR_COMM, "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_set_name(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "comm_name");
    CHECK_ERROR(MPI_Comm_get_name(MPI_COMM_WORLD, NULL, &length), MPI_ERR_ARG, "comm_name");
    CHECK_ERROR(MPI_Comm_get_name(MPI_COMM_WORLD, got, NULL), MPI_ERR_ARG, "resultlen");
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, got, &length));
    CHECK(!strcmp(got, "MPI_DATATYPE_NULL"));
    OK(MPI_Win_get_name(MPI_WIN_NULL, got, &length));
    CHECK(!strcmp(got, "MPI_WIN_NULL"));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    CHECK_EQ(result, MPI_IDENT);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result));
    CHECK_EQ(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    CHECK_ERROR(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &result), MPI_ERR_COMM, "MPI_COMM_NULL");
    OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &result));
    CHECK_EQ(result, 0);
    CHECK_ERROR(MPI_Comm_test_inter(MPI_COMM_NULL, &result), MPI_ERR_COMM, "MPI_Comm_test_inter");
    return finish();
}
