// ranks: 1 2 4
// no-check: buffers of accesses that fail are used by others
// Accesses that go on while the program does something else: large ones, collective ones that are
// gathered, many at once; what is left at the close; errors; threads.
#include "files.h"
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

static MPI_File fh;
static MPI_Status status;

enum { LARGE = 3 << 20, MANY = 12 };

static int threads(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return -1;
    for (struct dirent *task; (task = readdir(tasks));) count += task->d_name[0] != '.';
    closedir(tasks);
    return count;
}

// A program has no helper thread before it needs one.
static void thread_when_needed(char *data) {
    MPI_Request request;
    const int before = threads();
    fh = open_new("threads");
    OK(MPI_File_write_at_all(fh, (MPI_Offset)rank * LARGE, data, LARGE, MPI_BYTE, &status));
    OK(MPI_File_iwrite_at(fh, (MPI_Offset)rank * LARGE, data, 1000, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
    CHECK_EQ(threads(), before);
    OK(MPI_File_iwrite_at(fh, (MPI_Offset)rank * LARGE, data, LARGE, MPI_BYTE, &request));
    CHECK_EQ(threads(), before + 1);
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    int flag = -1;
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK_EQ(flag, 0);
    CHECK_COUNT(status, MPI_BYTE, LARGE);
    close_file(&fh);
}

// Many at once, completed in another order, with messages between them.
static void many(char *data) {
    MPI_Request requests[MANY + 2];
    MPI_Status statuses[MANY + 2];
    const int each = LARGE / MANY;
    int sent = rank, got = -1;
    fh = open_new("many");
    const MPI_Offset mine = (MPI_Offset)rank * LARGE;
    for (int i = 0; i < MANY; i++)
        OK(MPI_File_iwrite_at(fh, mine + i * each, data + i * each, each, MPI_BYTE, &requests[i]));
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[MANY]);
    MPI_Isend(&sent, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[MANY + 1]);
    for (int flag = 0; !flag;) OK(MPI_Test(&requests[MANY - 1], &flag, &status));
    CHECK_COUNT(status, MPI_BYTE, each);
    OK(MPI_Waitall(MANY + 2, requests, statuses));
    CHECK_EQ(got, (rank + size - 1) % size);
    CHECK_COUNT(statuses[0], MPI_BYTE, each);
    char *found = calloc(1, LARGE);
    for (int i = MANY - 1; i >= 0; i--)
        OK(MPI_File_iread_at(fh, mine + i * each, found + i * each, each, MPI_BYTE, &requests[i]));
    for (int left = MANY; left > 0; left--) {
        int index = -1;
        OK(MPI_Waitany(MANY, requests, &index, &status));
        CHECK(index >= 0 && index < MANY);
        CHECK_COUNT(status, MPI_BYTE, each);
    }
    CHECK(memcmp(found, data, (size_t)MANY * each) == 0);
    // Only a part is there, and the pointer has moved behind it.
    MPI_Barrier(MPI_COMM_WORLD);
    const MPI_Offset end = (MPI_Offset)(size - 1) * LARGE + MANY * each;
    OK(MPI_File_seek(fh, end - 5, MPI_SEEK_SET));
    OK(MPI_File_iread(fh, found, LARGE, MPI_BYTE, &requests[0]));
    MPI_Offset at = -1;
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, end);
    OK(MPI_Wait(&requests[0], &status));
    CHECK_COUNT(status, MPI_BYTE, 5);
    free(found);
    close_file(&fh);
}

// Requests that are freed: the close waits for their data.
static void freed(char *data) {
    MPI_Request request;
    fh = open_new("freed");
    OK(MPI_File_iwrite_at(fh, (MPI_Offset)rank * LARGE, data, LARGE, MPI_BYTE, &request));
    OK(MPI_Request_free(&request));
    close_file(&fh);
    char *found = calloc(1, LARGE);
    CHECK_EQ(read_outside("freed", (MPI_Offset)rank * LARGE, found, LARGE), LARGE);
    CHECK(memcmp(found, data, LARGE) == 0);
    free(found);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Short pieces that alternate between the ranks: gathered in the background, three at once, in the
// order of the calls; and a blocking one behind them.
static void gathered(char *data) {
    enum { EACH = 100000 };
    MPI_Datatype type;
    MPI_Request requests[3];
    MPI_Type_create_resized(MPI_INT64_T, 0, 8 * size, &type);
    MPI_Type_commit(&type);
    fh = open_new("gathered");
    OK(MPI_File_set_view(fh, 8 * rank, MPI_INT64_T, type, "native", MPI_INFO_NULL));
    for (int i = 0; i < 3; i++) {
        OK(MPI_File_iwrite_at_all(fh, i * EACH / 16, data + i * EACH / 2, EACH / 8, MPI_INT64_T, &requests[i]));
        // A rank may go on without the others.
        if (i == 0) {
            int token = 0;
            if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank < size - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 4, MPI_COMM_WORLD);
        }
    }
    OK(MPI_File_write_at_all(fh, 4 * EACH / 8, data + 4 * EACH, EACH / 8, MPI_INT64_T, &status));
    CHECK_COUNT(status, MPI_INT64_T, EACH / 8);
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    char *found = calloc(1, 5 * EACH);
    OK(MPI_File_iread_at_all(fh, 0, found, 2 * EACH / 8, MPI_INT64_T, &requests[0]));
    OK(MPI_File_iread_at_all(fh, 4 * EACH / 8, found + 4 * EACH, EACH / 8, MPI_INT64_T, &requests[1]));
    OK(MPI_Wait(&requests[1], &status));
    CHECK_COUNT(status, MPI_INT64_T, EACH / 8);
    OK(MPI_Wait(&requests[0], &status));
    CHECK_COUNT(status, MPI_INT64_T, 2 * EACH / 8);
    CHECK(memcmp(found, data, 2 * EACH) == 0);
    CHECK(memcmp(found + 4 * EACH, data + 4 * EACH, EACH) == 0);
    // In two calls, and others between them.
    memset(found, 0, 5 * EACH);
    OK(MPI_File_read_at_all_begin(fh, 0, found, 2 * EACH / 8, MPI_INT64_T));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_ERROR(MPI_File_read_at_all(fh, 0, found, 1, MPI_INT64_T, &status), MPI_ERR_IO, "MPI_File_read_at_all_end");
    OK(MPI_File_read_at_all_end(fh, found, &status));
    CHECK_COUNT(status, MPI_INT64_T, 2 * EACH / 8);
    CHECK(memcmp(found, data, 2 * EACH) == 0);
    free(found);
    close_file(&fh);
    MPI_Type_free(&type);
}

// Errors come with the request, and go to the handler of the file, which returns them.
static void errors(char *data) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    struct rlimit old, limit;
    signal(SIGXFSZ, SIG_IGN);
    fh = open_new("errors");
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &limit);
    OK(MPI_File_iwrite_at(fh, 8192, data, LARGE, MPI_BYTE, &requests[0]));
    CHECK_ERROR(MPI_Wait(&requests[0], &status), MPI_ERR_IO, "errors");
    CHECK(requests[0] == MPI_REQUEST_NULL);
    OK(MPI_File_iwrite_at(fh, 8192, data, LARGE, MPI_BYTE, &requests[0]));
    OK(MPI_File_iread_at(fh, 0, data + LARGE / 2, 100, MPI_BYTE, &requests[1]));
    CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK_CLASS(statuses[0].MPI_ERROR, MPI_ERR_IO);
    CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS);
    setrlimit(RLIMIT_FSIZE, &old);
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char *data = malloc(LARGE);
    fill(data, LARGE, (unsigned)rank + 1);
    thread_when_needed(data);
    many(data);
    freed(data);
    gathered(data);
    errors(data);
    free(data);
    return finish();
}
