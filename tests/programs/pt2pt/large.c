// ranks: 2
// timeout: 120
// cflags: -O2
// A message of more than 2 GiB, a count beyond an int: a mark in every 512 bytes and the ends are checked, and
// the status' counts in all widths.
#include "../check.h"
#include <sys/mman.h>

enum { STEP = 512 };

static int64_t mark(MPI_Count at) { return at * 3 + 1; }

int main(int argc, char **argv) {
    MPI_Count n = ((MPI_Count)1 << 31) + 4097;
    int small = 0;
    start(&argc, &argv);
    char *buf = mmap(NULL, n + 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(buf != MAP_FAILED);
    if (rank == 0) {
        for (MPI_Count at = 0; at + 8 <= n; at += STEP) *(int64_t *)(buf + at) = mark(at);
        buf[n - 1] = 77;
        OK(MPI_Send_c(buf, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
        OK(MPI_Recv(&small, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        MPI_Status status;
        MPI_Count c = -1;
        int i = -1;
        buf[n] = 0x5a;
        OK(MPI_Probe(0, 3, MPI_COMM_WORLD, &status));
        CHECK_STATUS(status, 0, 3, n);
        OK(MPI_Recv_c(buf, n + 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &status));
        CHECK_STATUS(status, 0, 3, n);
        OK(MPI_Get_count(&status, MPI_BYTE, &i));
        CHECK_EQ(i, MPI_UNDEFINED);
        OK(MPI_Get_elements(&status, MPI_BYTE, &i));
        CHECK_EQ(i, MPI_UNDEFINED);
        OK(MPI_Get_elements_x(&status, MPI_BYTE, &c));
        CHECK_EQ(c, n);
        OK(MPI_Get_elements_c(&status, MPI_BYTE, &c));
        CHECK_EQ(c, n);
        for (MPI_Count at = 0; at + 8 <= n; at += STEP)
            if (*(int64_t *)(buf + at) != mark(at)) CHECK_FAIL("wrong at byte %lld", (long long)at);
        CHECK_EQ(buf[n - 1], 77);
        CHECK_EQ(buf[n], 0x5a);
        OK(MPI_Send(&small, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
    }
    munmap(buf, n + 8);
    return finish();
}
