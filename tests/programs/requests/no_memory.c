// ranks: 2
// one-host: between hosts packets are stored in memory of the library
// no-check: counts allocations, which records need
// MPI_Waitall, MPI_Testall, MPI_Waitsome and MPI_Waitany of 1,000 requests allocate nothing, read and write nothing behind their
// arrays, and leave what they do not set as it was.
#include "../check.h"
#include <sys/mman.h>

enum { REQUESTS = 1000, ROUNDS = 3 };

// The functions of the C library under the names that it has for them itself: ours count, and call them.
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static volatile long allocations;
void *malloc(size_t bytes) {
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_realloc(old, bytes);
}
int posix_memalign(void **at, size_t align, size_t bytes) {
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    *at = __libc_memalign(align, bytes);
    return *at ? 0 : 12;
}
void *aligned_alloc(size_t align, size_t bytes) {
    __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_memalign(align, bytes);
}

// Memory of this length, with a page behind it that nobody may touch.
static void *before_a_wall(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    char *at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    CHECK(mprotect(at + room, page, PROT_NONE) == 0);
    return at + room - bytes;
}

enum how { WAITALL, TESTALL, WAITSOME, WAITANY, HOWS };

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Request *requests = before_a_wall(REQUESTS * sizeof *requests);
    MPI_Status *statuses = before_a_wall(REQUESTS * sizeof *statuses);
    int *indices = before_a_wall(REQUESTS * sizeof *indices), *values = malloc(REQUESTS * sizeof *values);
    // The counter counts what the library allocates, too.
    long before = allocations;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK(allocations > before);
    for (int how = 0; how < HOWS; how++) {
        // In the first round queues may grow.
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < REQUESTS; i += 2) {
                OK(MPI_Irecv(&values[i], 1, MPI_INT, 1 - rank, i, comm, &requests[i]));
                values[i + 1] = 3 * i;
            }
            OK(MPI_Barrier(comm));
            for (int i = 0; i < REQUESTS; i += 2) OK(MPI_Isend(&values[i + 1], 1, MPI_INT, 1 - rank, i, comm, &requests[i + 1]));
            memset(statuses, 0x5a, REQUESTS * sizeof *statuses);
            int done = 0, flag = 0, some, index, error = 0;
            before = allocations;
            switch (how) {
            case WAITALL:
                error = MPI_Waitall(REQUESTS, requests, statuses);
                break;
            case TESTALL:
                while (!error && !flag) error = MPI_Testall(REQUESTS, requests, &flag, statuses);
                break;
            case WAITSOME:
                for (; !error && done < REQUESTS; done += some) error = MPI_Waitsome(REQUESTS, requests, &some, indices, statuses + done);
                break;
            default:
                for (; !error && done < REQUESTS; done++) error = MPI_Waitany(REQUESTS, requests, &index, &statuses[done]);
            }
            long during = allocations - before;
            CHECK_EQ(error, MPI_SUCCESS);
            if (round > 0) CHECK_EQ(during, 0);
            for (int i = 0; i < REQUESTS; i++) {
                int untouched;
                memset(&untouched, 0x5a, sizeof untouched);
                CHECK(requests[i] == MPI_REQUEST_NULL);
                if (i % 2 == 0) CHECK_EQ(values[i], 3 * i);
                // Calls that succeed do not set the error.
                CHECK_EQ(statuses[i].MPI_ERROR, untouched);
                if (i % 2 == 0 && how < WAITSOME) CHECK(statuses[i].MPI_SOURCE == 1 - rank && statuses[i].MPI_TAG == i);
            }
            OK(MPI_Barrier(comm));
        }
    }
    OK(MPI_Comm_free(&comm));
    MPI_Finalize();
    return 0;
}
