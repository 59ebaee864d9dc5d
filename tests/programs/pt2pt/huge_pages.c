// ranks: 2 3
// Long buffers that are communicated repeatedly are moved to huge pages and keep their content. The process does not get
// larger, and memory beside the buffers that was never used stays unused. Rank 1 does without: OXMPI_HUGE_PAGES=0.
#define _GNU_SOURCE
#include "../check.h"
#include <sys/mman.h>

enum { MIB = 1 << 20, HUGE = 2 * MIB, BYTES = 9 * MIB, TIMES = 24, PAGE = 4096 };

// KiB of a buffer that lie on huge pages.
static long huge_kib(const char *at) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long from, to;
    int inside = 0;
    long kib = -1, found;
    if (!maps) return -1;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = (uintptr_t)at >= from && (uintptr_t)at < to;
        else if (inside && sscanf(line, "AnonHugePages: %ld kB", &found) == 1)
            kib = found;
    }
    fclose(maps);
    return kib;
}

// A separate mapping: the buffer, and behind it as much memory that is not touched. A page without access keeps the kernel
// from joining it with its neighbour.
static char *buffer(unsigned seed) {
    char *at = mmap(NULL, 2 * BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    CHECK(mprotect(at + 2 * BYTES, PAGE, PROT_NONE) == 0);
    fill(at, BYTES, seed);
    return at;
}

// Whether this machine moves pages when asked to, and says which are there.
static int is_possible(void) {
    FILE *setting = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    char line[100] = "";
    if (!setting || !fgets(line, sizeof line, setting) || strstr(line, "[never]")) return 0;
    fclose(setting);
    int release[2] = {0, 0};
    FILE *version = fopen("/proc/sys/kernel/osrelease", "r");
    if (!version || fscanf(version, "%d.%d", &release[0], &release[1]) != 2) return 0;
    fclose(version);
    if (release[0] < 6 || (release[0] == 6 && release[1] < 7)) return 0;
    char *at = buffer(1);
    char *first = (char *)(((uintptr_t)at + HUGE - 1) / HUGE * HUGE);
    const int moved = madvise(first, HUGE, 25 /* MADV_COLLAPSE */) == 0 && huge_kib(at) > 0;
    munmap(at, 2 * BYTES + PAGE);
    return moved;
}

enum { SENDRECV, RECV, IRECV, FORMS };

// Passes a buffer around the ring, with one of the calls that receive.
static void exchange(int form, const char *out, char *in) {
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request request;
    switch (form) {
    case SENDRECV:
        OK(MPI_Sendrecv(out, BYTES, MPI_BYTE, next, 1, in, BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        return;
    case RECV:
        OK(MPI_Isend(out, BYTES, MPI_BYTE, next, 1, MPI_COMM_WORLD, &request));
        OK(MPI_Recv(in, BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case IRECV:
        OK(MPI_Irecv(in, BYTES, MPI_BYTE, before, 1, MPI_COMM_WORLD, &request));
        OK(MPI_Send(out, BYTES, MPI_BYTE, next, 1, MPI_COMM_WORLD));
        break;
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void repeat(int form, int without, int possible) {
    char *out = buffer(rank), *in = buffer(99);
    CHECK(huge_kib(out) <= 0);
    const long resident = resident_kib();
    for (int i = 0; i < TIMES; i++) {
        exchange(form, out, in);
        CHECK_PATTERN(in, BYTES, (rank + size - 1) % size);
        CHECK_PATTERN(out, BYTES, rank);
        // Another one of the same length, most likely at the same address.
        if (i == TIMES / 2) {
            munmap(in, 2 * BYTES + PAGE);
            in = buffer(99);
        }
    }
    if (without) {
        CHECK(huge_kib(out) <= 0);
    } else if (possible) {
        CHECK(huge_kib(out) >= 2 * HUGE / 1024);
        CHECK(huge_kib(in) >= 2 * HUGE / 1024);
    }
    CHECK(resident_kib() - resident < 4 * 1024 + provider_kib());
    // Not unmapped: the buffers of the next form shall lie elsewhere.
}

int main(int argc, char **argv) {
    const char *number = getenv("OXMPI_RANK");
    const int without = number && atoi(number) == 1;
    if (without) setenv("OXMPI_HUGE_PAGES", "0", 1);
    const int possible = is_possible();
    start(&argc, &argv);
    for (int form = 0; form < FORMS; form++) repeat(form, without, possible);
    MPI_Finalize();
    return 0;
}
