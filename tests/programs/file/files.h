// What the tests of files share: opening one that must open, and looking at it from outside.
#ifndef FILES_H
#define FILES_H

#include "../check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

// Opens a file for reading and writing that is new and empty.
CHECK_UNUSED static MPI_File open_new(const char *name) {
    MPI_File fh = MPI_FILE_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &fh));
    CHECK(fh != MPI_FILE_NULL);
    return fh;
}

CHECK_UNUSED static void close_file(MPI_File *fh) {
    OK(MPI_File_close(fh));
    CHECK(*fh == MPI_FILE_NULL);
}

CHECK_UNUSED static long long size_outside(const char *name) {
    struct stat about;
    return stat(name, &about) ? -1 : (long long)about.st_size;
}

// Bytes of a file, read without MPI; how many there were.
CHECK_UNUSED static long long read_outside(const char *name, long long at, void *to, size_t bytes) {
    int fd = open(name, O_RDONLY);
    if (fd < 0) CHECK_FAIL("cannot open %s: %s", name, strerror(errno));
    long long done = 0;
    while ((size_t)done < bytes) {
        ssize_t n = pread(fd, (char *)to + done, bytes - (size_t)done, at + done);
        if (n <= 0) break;
        done += n;
    }
    close(fd);
    return done;
}

CHECK_UNUSED static void write_outside(const char *name, const void *from, size_t bytes) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, from, bytes) != (ssize_t)bytes) CHECK_FAIL("cannot write %s: %s", name, strerror(errno));
    close(fd);
}

#define CHECK_COUNT(status, datatype, expected)         \
    do {                                                \
        int count_ = -1;                                \
        OK(MPI_Get_count(&(status), datatype, &count_)); \
        CHECK_EQ(count_, expected);                     \
    } while (0)

#endif
