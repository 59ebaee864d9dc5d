// ranks: 1 2 4 8
// no-check: the ranks give different arguments, which are errors
// In atomic mode, overlapping writes do not mix, also with gaps, and a reader sees all of a write
// or nothing of it.
#include "files.h"

enum { COUNT = 3000, ROUNDS = 25 };
static MPI_File fh;
static MPI_Status status;

static void all_alike(const int *values, const char *what) {
    for (int i = 1; i < COUNT; i++)
        if (values[i] != values[0]) CHECK_FAIL("%s: element %d is %d, the first is %d", what, i, values[i], values[0]);
}

static void conflicts(MPI_Datatype filetype, const char *what) {
    static int mine[COUNT], got[COUNT];
    int flag = -1;
    fh = open_new("conflicts");
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK_EQ(flag, 0);
    OK(MPI_File_set_view(fh, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
    OK(MPI_File_set_atomicity(fh, 7));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK_EQ(flag, 1);
    memset(mine, 0, sizeof mine);
    OK(MPI_File_write_at_all(fh, 0, mine, COUNT, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++) mine[i] = 1000 * round + rank;
        if (rank % 2 == 0) OK(MPI_File_write_at(fh, 0, mine, COUNT, MPI_INT, &status));
        OK(MPI_File_read_at(fh, 0, got, COUNT, MPI_INT, &status));
        CHECK_COUNT(status, MPI_INT, COUNT);
        all_alike(got, what);
        MPI_Request request;
        OK(MPI_File_iread_at(fh, 0, got, COUNT, MPI_INT, &request));
        OK(MPI_Wait(&request, &status));
        all_alike(got, what);
    }
    // What another rank has written is visible at once.
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < COUNT; i++) mine[i] = -5;
        OK(MPI_File_write_at(fh, 0, mine, COUNT, MPI_INT, &status));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at_all(fh, 0, got, COUNT, MPI_INT, &status));
    CHECK_EQ(got[0], -5);
    all_alike(got, what);
    OK(MPI_File_set_atomicity(fh, 0));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK_EQ(flag, 0);
    if (size > 1) {
        CHECK_ERROR(MPI_File_set_atomicity(fh, rank == 0), MPI_ERR_NOT_SAME, "flag");
        OK(MPI_File_get_atomicity(fh, &flag));
        CHECK_EQ(flag, 0);
    }
    OK(MPI_File_sync(fh));
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Datatype gaps;
    MPI_Type_vector(3, 5, 11, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    conflicts(MPI_INT, "in one run");
    conflicts(gaps, "with gaps");
    MPI_Type_free(&gaps);
    return finish();
}
