// ranks: 4 7
// launch: --with-ft ulfm
// timeout: 120
// A communicator is revoked while its members make a window: some have it then, and others have not. Nobody gets its memory for
// another window while a member has it, and all can go on. (The first rank of a host owns the memory there.)
#include "ft.h"
#include <pthread.h>

enum { TURNS = 100, WORDS = 64 };

// How long it takes to make a window, in nanoseconds.
static long took = 300000;

static void *revoke_soon(void *argument) {
    MPI_Comm *comm = argument;
    struct timespec time = {0, took / 2 + (long)(MPI_Wtime() * 1e6) % 97 * took / 130};
    nanosleep(&time, NULL);
    OK(MPIX_Comm_revoke(*comm));
    return NULL;
}

int main(int argc, char **argv) {
    int provided, mixed = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    return_errors();
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Comm comm;
        MPI_Win first = MPI_WIN_NULL, second;
        int *memory = NULL, *others = NULL, revoker = turn % size;
        pthread_t thread;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        if (rank == revoker) CHECK_EQ(pthread_create(&thread, NULL, revoke_soon, &comm), 0);
        int code = MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &first);
        if (rank == revoker) CHECK_EQ(pthread_join(thread, NULL), 0);
        int has = code == MPI_SUCCESS, have = 0;
        if (!has) CHECK_EQ(code, REVOKED);
        OK(MPI_Allreduce(&has, &have, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        mixed += have > 0 && have < size;

        double begin = MPI_Wtime();
        OK(MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &others, &second));
        took = (long)((MPI_Wtime() - begin) * 1e9) % 100000000;
        for (int i = 0; i < WORDS; i++) others[i] = rank + 1;
        OK(MPI_Win_fence(0, second));
        if (has)
            for (int i = 0; i < WORDS; i++) memory[i] = -1;
        OK(MPI_Win_fence(0, second));
        for (int i = 0; i < WORDS; i++) CHECK_EQ(others[i], rank + 1);
        if (has) {
            OK(MPI_Win_set_errhandler(first, MPI_ERRORS_RETURN));
            OK(MPIX_Win_revoke(first));
            OK(MPI_Win_free(&first));
        }
        OK(MPI_Win_free(&second));
        OK(MPI_Comm_free(&comm));
    }
    if (rank == 0) printf("in %d of %d turns only some had the window\n", mixed, TURNS);
    return finish();
}
