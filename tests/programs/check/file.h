// Files that are used together, with `wrong` not as all ranks must; without it rightly.
#include "../check.h"

static int is(const char *name, const char *what) { return strcmp(name, what) == 0; }

CHECK_UNUSED static const char *const TOGETHER[] = {"write-all", "read-at-all", "iwrite-all", "order", "sync"};
CHECK_UNUSED static const char *const BUFFERS[] = {"iwrite", "iwrite-all", "iread", "split"};
#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

static MPI_File open_file(int mode) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | mode, MPI_INFO_NULL, &file);
    return file;
}

// Collective calls that not all ranks make, or in another order.
CHECK_UNUSED static void together(const char *name, int wrong) {
    int out[4] = {1, 2, 3, 4}, in[4];
    MPI_Offset at = rank * (MPI_Offset)sizeof out;
    MPI_Request request;
    MPI_File file = open_file(MPI_MODE_RDWR);
    MPI_File_set_view(file, at, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    int takes_part = !wrong || rank == 0;
    if (is(name, "write-all") && takes_part) MPI_File_write_all(file, out, 4, MPI_INT, MPI_STATUS_IGNORE);
    if (is(name, "read-at-all") && takes_part) MPI_File_read_at_all(file, 0, in, 4, MPI_INT, MPI_STATUS_IGNORE);
    if (is(name, "iwrite-all") && takes_part) {
        MPI_File_iwrite_all(file, out, 4, MPI_INT, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is(name, "order")) {
        int first = wrong && rank == 0;
        if (first) MPI_File_read_all(file, in, 4, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_write_all(file, out, 4, MPI_INT, MPI_STATUS_IGNORE);
        // What the rank has written itself.
        MPI_File_seek(file, 0, MPI_SEEK_SET);
        if (!first) MPI_File_read_all(file, in, 4, MPI_INT, MPI_STATUS_IGNORE);
    }
    if (is(name, "sync")) {
        if (takes_part) MPI_File_sync(file);
        else MPI_File_set_size(file, 64);
        if (takes_part && !wrong) MPI_File_set_size(file, 64);
    }
    MPI_File_close(&file);
}

// Buffers that change while an access is under way.
CHECK_UNUSED static void pending(const char *name, int wrong) {
    int data[4] = {rank, 2, 3, 4};
    MPI_Offset at = rank * (MPI_Offset)sizeof data;
    MPI_Request request;
    MPI_File file = open_file(MPI_MODE_RDWR);
    MPI_File_write_at(file, at, data, 4, MPI_INT, MPI_STATUS_IGNORE);
    if (is(name, "iwrite")) MPI_File_iwrite_at(file, at, data, 4, MPI_INT, &request);
    if (is(name, "iwrite-all")) MPI_File_iwrite_at_all(file, at, data, 4, MPI_INT, &request);
    if (is(name, "iread")) MPI_File_iread_at(file, at, data, 4, MPI_INT, &request);
    if (is(name, "split")) MPI_File_write_at_all_begin(file, at, data, 4, MPI_INT);
    if (wrong) data[1] = 77;
    if (is(name, "split")) MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
    else MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

CHECK_UNUSED static void overlap(int wrong) {
    int data[8] = {rank}, more[8];
    MPI_Request requests[2];
    MPI_File file = open_file(MPI_MODE_RDWR);
    MPI_File_write_at_all(file, rank * 32, data, 8, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, rank * 32, data, 4, MPI_INT, &requests[0]);
    MPI_File_iread_at(file, rank * 32, wrong ? data + 2 : more, 4, MPI_INT, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_File_close(&file);
}

CHECK_UNUSED static void differ(int wrong) {
    int mode = wrong && rank == 0 ? MPI_MODE_WRONLY : MPI_MODE_RDWR;
    MPI_File file;
    int failed = MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | mode, MPI_INFO_NULL, &file);
    if (!failed) MPI_File_close(&file);
}
