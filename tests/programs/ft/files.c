// ranks: 3
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// A process with an open file dies: independent accesses work, collective ones fail, and the file is closed.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    MPI_File file;
    int value = rank + 5, got = 0, dead = size - 1;
    OK(MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    meet_at(dead);
    if (rank == dead) die();
    await_failures(MPI_COMM_WORLD, 1);
    OK(MPI_File_read_at(file, 4 * dead, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(got, dead + 5);
    OK(MPI_File_write_at(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE), PROC_FAILED);
    FAILS(MPI_File_read_all(file, &got, 1, MPI_INT, MPI_STATUS_IGNORE), PROC_FAILED);
    FAILS(MPI_File_set_size(file, 100), PROC_FAILED);
    MPI_File_close(&file);
    CHECK(file == MPI_FILE_NULL);
    MPI_Comm left = shrunk(MPI_COMM_WORLD, size - 1);
    CHECK(access("data", F_OK) != 0);
    OK(MPI_Comm_free(&left));
    return finish();
}
