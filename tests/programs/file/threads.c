// ranks: 1 2 4
// cflags: -pthread
// Several threads of a rank at once: on one file, at offsets, at the rank's file pointer and at the shared one; on files of
// their own; in atomic mode.
#include "files.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50, COUNT = 64 };
static MPI_File fh;
static char kind;

static void *work(void *argument) {
    const int me = (int)(intptr_t)argument;
    int block[COUNT], got[COUNT];
    MPI_Status status;
    MPI_File own = MPI_FILE_NULL;
    char name[32];
    if (kind == 'f') {
        snprintf(name, sizeof name, "own%d_%d", rank, me);
        OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &own));
    }
    for (int round = 0; round < ROUNDS; round++) {
        const MPI_Offset at = (MPI_Offset)sizeof block * (round * THREADS * size + rank * THREADS + me);
        for (int i = 0; i < COUNT; i++) block[i] = 1000000 * me + 1000 * rank + round;
        switch (kind) {
        case 'o':
            OK(MPI_File_write_at(fh, at, block, COUNT, MPI_INT, &status));
            OK(MPI_File_read_at(fh, at, got, COUNT, MPI_INT, &status));
            CHECK(!memcmp(block, got, sizeof got));
            break;
        case 'p': OK(MPI_File_write(fh, block, COUNT, MPI_INT, &status)); break;
        case 's': OK(MPI_File_write_shared(fh, block, COUNT, MPI_INT, &status)); break;
        case 'f':
            OK(MPI_File_write_shared(own, block, COUNT, MPI_INT, &status));
            OK(MPI_File_read(own, got, COUNT, MPI_INT, &status));
            CHECK(!memcmp(block, got, sizeof got));
            break;
        case 'a':
            // All threads use the same place.
            OK(MPI_File_write_at(fh, 0, block, COUNT, MPI_INT, &status));
            OK(MPI_File_read_at(fh, 0, got, COUNT, MPI_INT, &status));
            for (int i = 1; i < COUNT; i++) CHECK_EQ(got[i], got[0]);
            break;
        }
        CHECK_COUNT(status, MPI_INT, COUNT);
    }
    if (kind == 'f') close_file(&own);
    return NULL;
}

// Each block is in the file once, and whole.
static void all_there(MPI_File file, int ranks, int first) {
    static int seen[8][THREADS];
    int block[COUNT];
    memset(seen, 0, sizeof seen);
    for (int k = 0; k < ranks * THREADS * ROUNDS; k++) {
        OK(MPI_File_read_at(file, (MPI_Offset)sizeof block * k, block, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 1; i < COUNT; i++) CHECK_EQ(block[i], block[0]);
        const int thread = block[0] / 1000000, of = block[0] / 1000 % 1000 - first, round = block[0] % 1000;
        CHECK(thread >= 0 && thread < THREADS && of >= 0 && of < ranks);
        // A thread's own are in order.
        CHECK_EQ(round, seen[of][thread]++);
    }
}

static void run(char what) {
    pthread_t threads[THREADS];
    kind = what;
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    start_threads(&argc, &argv);
    return_errors();
    MPI_Offset at = -1;
    fh = open_new("offsets");
    run('o');
    all_there(fh, size, 0);
    close_file(&fh);

    char name[32];
    snprintf(name, sizeof name, "pointer%d", rank);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh));
    run('p');
    OK(MPI_File_get_position(fh, &at));
    CHECK_EQ(at, (MPI_Offset)sizeof(int) * COUNT * THREADS * ROUNDS);
    all_there(fh, 1, rank);
    close_file(&fh);

    fh = open_new("shared");
    run('s');
    all_there(fh, size, 0);
    close_file(&fh);
    run('f');

    fh = open_new("atomic");
    OK(MPI_File_set_atomicity(fh, 1));
    run('a');
    close_file(&fh);
    return finish();
}
