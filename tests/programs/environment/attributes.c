// ranks: 1 2 3 4 7 8
// The predefined attributes of MPI_COMM_WORLD: pointers to ints that do not move, with sensible values, the same
// on all ranks where the standard says so; they cannot be changed.
#include "../check.h"

static int *get(int key, const char *name, int must) {
    int *value = NULL, *again = NULL, found = -1;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &found));
    if (!found) {
        if (must) CHECK_FAIL("%s is not there", name);
        return NULL;
    }
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &again, &found));
    CHECK(value == again && value != NULL);
    return value;
}

static void same_everywhere(int value) {
    int left = -1;
    MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 1, &left, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(left, value);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    int *tag_ub = get(MPI_TAG_UB, "MPI_TAG_UB", 1), *io = get(MPI_IO, "MPI_IO", 1);
    CHECK(*tag_ub >= 32767);
    same_everywhere(*tag_ub);
    CHECK_EQ(*io, MPI_ANY_SOURCE); // every rank can read and write files
    int *global = get(MPI_WTIME_IS_GLOBAL, "MPI_WTIME_IS_GLOBAL", 1);
    CHECK(*global == 0 || *global == 1);
    same_everywhere(*global);
    int *last = get(MPI_LASTUSEDCODE, "MPI_LASTUSEDCODE", 1);
    CHECK(*last >= MPI_ERR_LASTCODE);
    int *universe = get(MPI_UNIVERSE_SIZE, "MPI_UNIVERSE_SIZE", 0);
    if (universe) CHECK(*universe >= size);
    int *app = get(MPI_APPNUM, "MPI_APPNUM", 0);
    if (app) CHECK_EQ(*app, 0); // one program
    if (*global) {
        // A time taken before a send is never later than one taken after the receive.
        for (int i = 0; i < 200; i++) {
            double mine, theirs;
            MPI_Request r;
            mine = MPI_Wtime();
            MPI_Isend(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 2, MPI_COMM_WORLD, &r);
            MPI_Recv(&theirs, 1, MPI_DOUBLE, (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(MPI_Wtime() >= theirs);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
    }
    int found = -1, *value;
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB), MPI_ERR_KEYVAL);
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &found), MPI_ERR_KEYVAL, "MPI_Comm_get_attr");
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_NULL, MPI_TAG_UB, &value, &found), MPI_ERR_COMM, "MPI_Comm_get_attr");
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL, &found), MPI_ERR_ARG, "MPI_Comm_get_attr");
    CHECK_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, NULL), MPI_ERR_ARG, "MPI_Comm_get_attr");
    CHECK_EQ(*get(MPI_TAG_UB, "MPI_TAG_UB", 1), *tag_ub);
    return finish();
}
