// ranks: 1 2 3 8
// Accesses that are completed by requests, or in two calls.
#include "files.h"

enum { BLOCK = 500 };
static MPI_File fh;
static MPI_Status status;

static void requests(void) {
    int block[8][BLOCK], got[8][BLOCK];
    MPI_Request request[10];
    MPI_Status statuses[10];
    MPI_Offset at = -1;
    const MPI_Offset bytes = sizeof block[0], mine = rank * 8 * bytes;
    fh = open_new("requests");
    for (int i = 0; i < 8; i++) fill(block[i], sizeof block[i], (unsigned)(10 * rank + i));
    OK(MPI_File_seek(fh, mine + 4 * bytes, MPI_SEEK_SET));
    OK(MPI_File_iwrite_at(fh, mine, block[0], BLOCK, MPI_INT, &request[0]));
    OK(MPI_File_iwrite_at_c(fh, mine + bytes, block[1], BLOCK, MPI_INT, &request[1]));
    OK(MPI_File_iwrite_at_all(fh, mine + 2 * bytes, block[2], BLOCK, MPI_INT, &request[2]));
    OK(MPI_File_iwrite_at_all_c(fh, mine + 3 * bytes, block[3], BLOCK, MPI_INT, &request[3]));
    OK(MPI_File_iwrite(fh, block[4], BLOCK, MPI_INT, &request[4]));
    OK(MPI_File_iwrite_c(fh, block[5], BLOCK, MPI_INT, &request[5]));
    OK(MPI_File_iwrite_all(fh, block[6], BLOCK, MPI_INT, &request[6]));
    OK(MPI_File_iwrite_all_c(fh, block[7], BLOCK, MPI_INT, &request[7]));
    // The pointer has moved already.
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, mine + 8 * bytes);
    OK(MPI_Waitall(8, request, statuses));
    for (int i = 0; i < 8; i++) {
        CHECK(request[i] == MPI_REQUEST_NULL);
        CHECK_COUNT(statuses[i], MPI_INT, BLOCK);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(size_outside("requests"), size * 8 * bytes);

    const int next = (rank + 1) % size;
    const MPI_Offset theirs = next * 8 * bytes;
    memset(got, 0, sizeof got);
    OK(MPI_File_seek(fh, theirs + 4 * bytes, MPI_SEEK_SET));
    OK(MPI_File_iread_at(fh, theirs, got[0], BLOCK, MPI_INT, &request[0]));
    OK(MPI_File_iread_at_c(fh, theirs + bytes, got[1], BLOCK, MPI_INT, &request[1]));
    OK(MPI_File_iread_at_all(fh, theirs + 2 * bytes, got[2], BLOCK, MPI_INT, &request[2]));
    OK(MPI_File_iread_at_all_c(fh, theirs + 3 * bytes, got[3], BLOCK, MPI_INT, &request[3]));
    OK(MPI_File_iread(fh, got[4], BLOCK, MPI_INT, &request[4]));
    OK(MPI_File_iread_c(fh, got[5], BLOCK, MPI_INT, &request[5]));
    OK(MPI_File_iread_all(fh, got[6], BLOCK, MPI_INT, &request[6]));
    OK(MPI_File_iread_all_c(fh, got[7], BLOCK, MPI_INT, &request[7]));
    // Completed in every way there is, a message among them.
    int value = rank, from = -1, flag = 0, index = -1, done = 0, indices[10];
    MPI_Irecv(&from, 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &request[8]);
    MPI_Isend(&value, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &request[9]);
    OK(MPI_Request_get_status(request[0], &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_COUNT(status, MPI_INT, BLOCK);
    OK(MPI_Wait(&request[0], &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    OK(MPI_Test(&request[1], &flag, &status));
    CHECK_EQ(flag, 1);
    CHECK_COUNT(status, MPI_INT, BLOCK);
    OK(MPI_Waitany(2, request + 2, &index, &status));
    CHECK(index == 0 || index == 1);
    CHECK_COUNT(status, MPI_INT, BLOCK);
    OK(MPI_Waitsome(1, request + 4, &done, indices, statuses));
    CHECK_EQ(done, 1);
    CHECK_COUNT(statuses[0], MPI_INT, BLOCK);
    OK(MPI_Request_free(&request[7]));
    OK(MPI_Waitall(10, request, MPI_STATUSES_IGNORE));
    CHECK_EQ(from, (rank + size - 1) % size);
    for (int i = 0; i < 8; i++) CHECK_PATTERN(got[i], sizeof got[i], 10 * next + i);

    // The available part of the request.
    OK(MPI_File_iread_at(fh, size * 8 * bytes - 12, got[0], BLOCK, MPI_INT, &request[0]));
    OK(MPI_Wait(&request[0], &status));
    CHECK_COUNT(status, MPI_INT, 3);
    OK(MPI_File_iwrite_at(fh, 0, NULL, 0, MPI_INT, &request[0]));
    OK(MPI_Wait(&request[0], &status));
    CHECK_COUNT(status, MPI_INT, 0);
    request[0] = MPI_REQUEST_NULL;
    CHECK_ERROR(MPI_File_iread_at(fh, -1, got[0], 1, MPI_INT, &request[0]), MPI_ERR_ARG, "MPI_File_iread_at");
    CHECK(request[0] == MPI_REQUEST_NULL);
    CHECK_ERROR(MPI_File_iwrite(fh, got[0], 1, MPI_INT, NULL), MPI_ERR_ARG, "request");
    CHECK_ERROR(MPI_File_iwrite_all(MPI_FILE_NULL, got[0], 1, MPI_INT, &request[0]), MPI_ERR_FILE, "MPI_File_iwrite_all");
    close_file(&fh);
}

// A begin and its end; in between no other collective call.
static void split(void) {
    int block[BLOCK], got[BLOCK];
    const MPI_Offset bytes = sizeof block, mine = rank * bytes;
    MPI_Offset at = -1;
    fh = open_new("split");
    fill(block, sizeof block, (unsigned)rank);
    OK(MPI_File_write_at_all_begin(fh, mine, block, BLOCK, MPI_INT));
    CHECK_ERROR(MPI_File_write_at_all_begin(fh, mine, block, BLOCK, MPI_INT), MPI_ERR_IO, "MPI_File_write_at_all_end");
    CHECK_ERROR(MPI_File_write_all(fh, block, BLOCK, MPI_INT, &status), MPI_ERR_IO, "MPI_File_write_at_all_begin");
    CHECK_ERROR(MPI_File_read_ordered(fh, got, 1, MPI_INT, &status), MPI_ERR_IO, "MPI_File_write_at_all_begin");
    CHECK_ERROR(MPI_File_set_size(fh, 0), MPI_ERR_IO, "MPI_File_write_at_all_end");
    CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_IO, "has not");
    CHECK_ERROR(MPI_File_write_all_end(fh, block, &status), MPI_ERR_IO, "MPI_File_write_at_all_begin");
    MPI_File copy = fh;
    CHECK_ERROR(MPI_File_close(&copy), MPI_ERR_IO, "MPI_File_write_at_all_end");
    CHECK(copy == fh);
    // Accesses that are not collective are allowed.
    OK(MPI_File_write_at(fh, size * bytes + rank, "x", 1, MPI_CHAR, &status));
    OK(MPI_File_write_at_all_end(fh, block, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    CHECK_ERROR(MPI_File_write_at_all_end(fh, block, &status), MPI_ERR_IO, "MPI_File_write_at_all_begin has not");
    MPI_Barrier(MPI_COMM_WORLD);

    const int next = (rank + 1) % size;
    OK(MPI_File_read_at_all_begin_c(fh, next * bytes, got, BLOCK, MPI_INT));
    OK(MPI_File_read_at_all_end(fh, got, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    CHECK_PATTERN(got, sizeof got, next);

    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek(fh, mine, MPI_SEEK_SET));
    fill(block, sizeof block, 70 + (unsigned)rank);
    OK(MPI_File_write_all_begin(fh, block, BLOCK, MPI_INT));
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, mine + bytes);
    OK(MPI_File_write_all_end(fh, block, MPI_STATUS_IGNORE));
    OK(MPI_File_seek(fh, mine, MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(fh, got, BLOCK, MPI_INT));
    OK(MPI_File_read_all_end(fh, got, &status));
    CHECK_COUNT(status, MPI_INT, BLOCK);
    CHECK_PATTERN(got, sizeof got, 70 + rank);
    OK(MPI_File_write_all_begin_c(fh, block, 0, MPI_INT));
    OK(MPI_File_write_all_end(fh, block, &status));
    CHECK_COUNT(status, MPI_INT, 0);
    OK(MPI_File_read_all_begin_c(fh, got, 0, MPI_INT));
    OK(MPI_File_read_all_end(fh, got, &status));
    OK(MPI_File_write_at_all_begin_c(fh, 0, block, 0, MPI_INT));
    OK(MPI_File_write_at_all_end(fh, block, &status));
    OK(MPI_File_read_at_all_begin(fh, 0, got, 1, MPI_INT));
    OK(MPI_File_read_at_all_end(fh, got, &status));

    // A begin that fails has not begun.
    CHECK_ERROR(MPI_File_read_at_all_begin(fh, -1, got, 1, MPI_INT), MPI_ERR_ARG, "MPI_File_read_at_all_begin");
    CHECK_ERROR(MPI_File_read_at_all_end(fh, got, &status), MPI_ERR_IO, "has not been called");
    close_file(&fh);
}

static void split_ordered(void) {
    fh = open_new("ordered");
    int mine[4] = {rank, rank, rank, rank}, got[4] = {-1, -1, -1, -1};
    OK(MPI_File_write_ordered_begin(fh, mine, 2, MPI_INT));
    OK(MPI_File_write_ordered_end(fh, mine, &status));
    CHECK_COUNT(status, MPI_INT, 2);
    OK(MPI_File_write_ordered_begin_c(fh, mine, 1, MPI_INT));
    OK(MPI_File_write_ordered_end(fh, mine, &status));
    CHECK_COUNT(status, MPI_INT, 1);
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered_begin(fh, got, 2, MPI_INT));
    CHECK_ERROR(MPI_File_read_all_end(fh, got, &status), MPI_ERR_IO, "MPI_File_read_ordered_begin");
    OK(MPI_File_read_ordered_end(fh, got, &status));
    CHECK_COUNT(status, MPI_INT, 2);
    CHECK_EQ(got[0], rank);
    CHECK_EQ(got[1], rank);
    OK(MPI_File_read_ordered_begin_c(fh, got, 1, MPI_INT));
    OK(MPI_File_read_ordered_end(fh, got, &status));
    CHECK_EQ(got[0], rank);
    MPI_Offset at = -1;
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK_EQ(at, 12 * size);
    close_file(&fh);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    requests();
    split();
    split_ordered();
    return finish();
}
