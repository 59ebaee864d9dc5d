// ranks: 1 2
// args: multiple
// MPI_Init_thread, MPI_Query_thread and MPI_Is_thread_main.
// cflags: -pthread
#include "../check.h"
#include <pthread.h>

static void *other(void *unused) {
    int flag = -1;
    OK(MPI_Is_thread_main(&flag));
    CHECK_EQ(flag, 0);
    return unused;
}

int main(int argc, char **argv) {
    int provided = -1, asked = -1, flag = -1;
    CHECK_EQ(argc, 2); // the arguments are the program's own before and after
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED);
    CHECK(MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK_EQ(argc, 2);
    CHECK(!strcmp(argv[1], "multiple"));
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Query_thread(&asked));
    CHECK_EQ(asked, provided);
    OK(MPI_Is_thread_main(&flag));
    CHECK_EQ(flag, 1);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, other, NULL), 0);
    pthread_join(thread, NULL);
    return finish();
}
