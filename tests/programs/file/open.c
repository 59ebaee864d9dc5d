// ranks: 1 2 3 8
// no-check: the ranks give different arguments, which are errors
// Opening, closing and deleting: every access mode, what each allows, and what goes wrong.
#include "files.h"

static MPI_File fh;
static const int READ_WRITE = MPI_MODE_RDWR | MPI_MODE_CREATE;

static int open_all(const char *name, int amode) {
    fh = MPI_FILE_NULL;
    return MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh);
}

static void modes(void) {
    int value = rank, amode = -1;
    MPI_Status status;
    MPI_Offset bytes = -1;
    CHECK_ERROR(open_all("a", MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE, "MPI_File_open");
    CHECK(fh == MPI_FILE_NULL);
    CHECK_ERROR(open_all("a", MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE, "\"a\"");
    MPI_Barrier(MPI_COMM_WORLD);

    OK(open_all("a", MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL));
    OK(MPI_File_get_amode(fh, &amode));
    CHECK_EQ(amode, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL);
    OK(MPI_File_write_at(fh, 4 * rank, &value, 1, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 1);
    CHECK_ERROR(MPI_File_read_at(fh, 0, &value, 1, MPI_INT, &status), MPI_ERR_ACCESS, "MPI_MODE_WRONLY");
    CHECK_EQ(value, rank);
    close_file(&fh);
    CHECK_EQ(size_outside("a"), 4 * size);

    CHECK_ERROR(open_all("a", READ_WRITE | MPI_MODE_EXCL), MPI_ERR_FILE_EXISTS, "\"a\"");
    CHECK(fh == MPI_FILE_NULL);

    OK(open_all("a", MPI_MODE_RDONLY));
    value = -1;
    OK(MPI_File_read_at(fh, 4 * rank, &value, 1, MPI_INT, &status));
    CHECK_EQ(value, rank);
    CHECK_ERROR(MPI_File_write_at(fh, 0, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY, "MPI_File_write_at");
    CHECK_ERROR(MPI_File_write(fh, &value, 1, MPI_INT, &status), MPI_ERR_READ_ONLY, "MPI_MODE_RDONLY");
    CHECK_ERROR(MPI_File_set_size(fh, 0), MPI_ERR_READ_ONLY, "MPI_File_set_size");
    CHECK_ERROR(MPI_File_preallocate(fh, 100), MPI_ERR_READ_ONLY, "MPI_File_preallocate");
    close_file(&fh);

    // Existing content is kept.
    OK(open_all("a", READ_WRITE));
    OK(MPI_File_get_size(fh, &bytes));
    CHECK_EQ(bytes, 4 * size);
    close_file(&fh);

    // All file pointers begin at the end.
    OK(open_all("a", MPI_MODE_RDWR | MPI_MODE_APPEND));
    OK(MPI_File_get_position(fh, &bytes));
    CHECK_EQ(bytes, 4 * size);
    OK(MPI_File_get_position_shared(fh, &bytes));
    CHECK_EQ(bytes, 4 * size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) OK(MPI_File_write(fh, "end", 3, MPI_CHAR, MPI_STATUS_IGNORE));
    close_file(&fh);
    char end[4] = "";
    CHECK_EQ(read_outside("a", 4 * size, end, 4), 3);
    CHECK(!strcmp(end, "end"));
    MPI_Barrier(MPI_COMM_WORLD);

    OK(open_all("a", MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN));
    CHECK_EQ(size_outside("a"), 4 * size + 3);
    close_file(&fh);
    CHECK_EQ(size_outside("a"), -1);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(open_all("b", READ_WRITE | MPI_MODE_DELETE_ON_CLOSE));
    OK(MPI_File_write_at(fh, 0, &value, 1, MPI_INT, &status));
    CHECK_EQ(size_outside("b"), 4);
    close_file(&fh);
    CHECK_EQ(size_outside("b"), -1);
}

// One file by several names.
static void names(void) {
    int value = -1;
    OK(open_all(rank % 2 ? "./one" : "one", READ_WRITE));
    OK(MPI_File_write_ordered(fh, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(&fh);
    CHECK_EQ(read_outside("one", 4 * rank, &value, 4), 4);
    CHECK_EQ(value, rank);
}

static void bad_modes(void) {
    static const int bad[] = {
        0, MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_MODE_RDWR | MPI_MODE_WRONLY,
        MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL,
        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_MODE_RDWR | (1 << 24), -1,
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_ERROR(open_all("no", bad[i]), MPI_ERR_AMODE, "MPI_File_open");
        CHECK(fh == MPI_FILE_NULL);
    }
    CHECK_EQ(size_outside("no"), -1);
    if (size > 1) {
        // Different modes, and a mode that is bad on one rank alone.
        CHECK_ERROR(open_all("no", rank ? READ_WRITE : READ_WRITE | MPI_MODE_APPEND), MPI_ERR_NOT_SAME, "access mode");
        CHECK_ERROR(open_all("no", rank == size - 1 ? 0 : READ_WRITE), MPI_ERR_AMODE,
                    rank == size - 1 ? "exactly one" : "failed on rank");
        // Two files of the same communicator.
        CHECK_CLASS(open_all(rank ? "no/such" : "yes", READ_WRITE), MPI_ERR_NO_SUCH_FILE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) write_outside("other", "x", 1);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_CLASS(open_all(rank ? "other" : "yes", READ_WRITE), MPI_ERR_NOT_SAME);
    }
    CHECK_EQ(size_outside("no"), -1);
}

static void bad_names(void) {
    static char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    CHECK_ERROR(open_all(longest, READ_WRITE), MPI_ERR_BAD_FILE, "MPI_File_open");
    CHECK_ERROR(open_all("", READ_WRITE), MPI_ERR_BAD_FILE, rank ? "rank 0" : "empty");
    CHECK_ERROR(open_all(NULL, READ_WRITE), MPI_ERR_ARG, "filename");
    CHECK_ERROR(open_all(".", MPI_MODE_RDONLY), MPI_ERR_BAD_FILE, rank ? "rank 0" : "directory");
    CHECK_ERROR(open_all("missing/file", READ_WRITE), MPI_ERR_NO_SUCH_FILE, "missing/file");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) write_outside("plain", "x", 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_ERROR(open_all("plain/file", READ_WRITE), MPI_ERR_BAD_FILE, "plain/file");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) chmod("plain", 0);
    MPI_Barrier(MPI_COMM_WORLD);
    // Root may open it.
    if (geteuid() != 0) CHECK_ERROR(open_all("plain", MPI_MODE_RDONLY), MPI_ERR_ACCESS, "plain");
    CHECK_ERROR(MPI_File_open(MPI_COMM_NULL, "x", READ_WRITE, MPI_INFO_NULL, &fh), MPI_ERR_COMM, "MPI_File_open");
    CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, "x", READ_WRITE, MPI_INFO_NULL, NULL), MPI_ERR_ARG, "fh");
    fh = MPI_FILE_NULL;
    CHECK_ERROR(MPI_File_close(&fh), MPI_ERR_FILE, "MPI_FILE_NULL");
    CHECK_ERROR(MPI_File_close(NULL), MPI_ERR_ARG, "fh");
}

static void deleting(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK_ERROR(MPI_File_delete("gone", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE, "MPI_File_delete");
        write_outside("gone", "x", 1);
        OK(MPI_File_delete("gone", MPI_INFO_NULL));
        CHECK_EQ(size_outside("gone"), -1);
        CHECK_ERROR(MPI_File_delete("", MPI_INFO_NULL), MPI_ERR_BAD_FILE, "empty");
        CHECK_ERROR(MPI_File_delete(NULL, MPI_INFO_NULL), MPI_ERR_ARG, "filename");
        mkdir("folder", 0777);
        CHECK_ERROR(MPI_File_delete("folder", MPI_INFO_NULL), MPI_ERR_BAD_FILE, "folder");
    }
}

// Each rank has its own file; the communicator may be freed; a closed handle is recognised.
static void alone(void) {
    char name[32];
    MPI_Comm comm;
    MPI_Group group, own;
    MPI_File mine, copy;
    int same = -1, value = 1000 + rank;
    snprintf(name, sizeof name, "own%d", rank);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    OK(MPI_File_open(comm, name, READ_WRITE, MPI_INFO_NULL, &mine));
    MPI_Comm_free(&comm);
    OK(MPI_File_get_group(mine, &group));
    MPI_Comm_group(MPI_COMM_SELF, &own);
    MPI_Group_compare(group, own, &same);
    CHECK_EQ(same, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&own);
    OK(MPI_File_write_all(mine, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    copy = mine;
    close_file(&mine);
    CHECK_ERROR(MPI_File_sync(copy), MPI_ERR_FILE, "freed");
    CHECK_ERROR(MPI_File_close(&copy), MPI_ERR_FILE, "freed");
    CHECK(copy != MPI_FILE_NULL);
    int got = 0;
    CHECK_EQ(read_outside(name, 0, &got, sizeof got), 4);
    CHECK_EQ(got, value);

    // The ranks of a part of the world.
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    snprintf(name, sizeof name, "part%d", rank % 2);
    OK(MPI_File_open(comm, name, READ_WRITE, MPI_INFO_NULL, &mine));
    MPI_Comm_group(comm, &own);
    OK(MPI_File_get_group(mine, &group));
    MPI_Group_compare(group, own, &same);
    CHECK_EQ(same, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&own);
    int place = -1, members = -1;
    MPI_Comm_rank(comm, &place);
    MPI_Comm_size(comm, &members);
    MPI_Comm_free(&comm);
    OK(MPI_File_write_ordered(mine, &place, 1, MPI_INT, MPI_STATUS_IGNORE));
    close_file(&mine);
    CHECK_EQ(size_outside(name), 4 * members);
    CHECK_EQ(read_outside(name, 4 * place, &got, 4), 4);
    CHECK_EQ(got, place);
}

// Many at once, and the handle as an integer.
static void many(void) {
    enum { MANY = 40 };
    MPI_File open[MANY];
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "many%d", i);
        OK(MPI_File_open(MPI_COMM_WORLD, name, READ_WRITE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &open[i]));
        CHECK(MPI_File_f2c(MPI_File_c2f(open[i])) == open[i]);
        CHECK(MPI_File_fromint(MPI_File_toint(open[i])) == open[i]);
    }
    for (int i = 0; i < MANY; i++) {
        int number = 100 * i + rank;
        OK(MPI_File_write_at(open[i], 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    for (int i = MANY - 1; i >= 0; i--) {
        int number = -1;
        OK(MPI_File_read_at(open[i], 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
        CHECK_EQ(number, 100 * i + rank);
        close_file(&open[i]);
    }
    CHECK_EQ(size_outside("many7"), -1);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    modes();
    names();
    bad_modes();
    bad_names();
    deleting();
    alone();
    many();
    return finish();
}
