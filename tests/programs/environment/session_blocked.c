// ranks: 2 3
// sleeps: ranks wait for seconds before they go on
// cflags: -pthread
// args: world MPI_THREAD_FUNNELED MPI_THREAD_SERIALIZED
// args: world MPI_THREAD_SERIALIZED MPI_THREAD_MULTIPLE
// args: session MPI_THREAD_SERIALIZED MPI_THREAD_SERIALIZED
// args: session MPI_THREAD_FUNNELED MPI_THREAD_FUNNELED
// A thread is blocked in a receive, without a lock, when another thread opens a session of its own and communicates there: objects
// of different sessions may be used by different threads at any thread level but MPI_THREAD_SINGLE.
#include "../check.h"
#include <pthread.h>

enum { ROUNDS = 4000, LONGEST = 3000 };
static const char *second;

static MPI_Comm open_session(const char *level, const char *tag, MPI_Session *session) {
    MPI_Info info;
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", level));
    OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, session));
    OK(MPI_Info_free(&info));
    OK(MPI_Group_from_session_pset(*session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    OK(MPI_Group_free(&group));
    return comm;
}

// What the second thread does, in a session of its own; it ends the first thread's wait.
static void *work(void *first) {
    MPI_Session session;
    int got[LONGEST], given[LONGEST], me, all;
    usleep(100000); // until the first thread sleeps
    MPI_Comm comm = open_session(second, "second", &session);
    OK(MPI_Comm_rank(comm, &me));
    OK(MPI_Comm_size(comm, &all));
    const int left = (me + all - 1) % all, right = (me + 1) % all;
    for (int i = 0; i < LONGEST; i++) given[i] = me;
    for (int round = 0; round < ROUNDS; round++) {
        const int count = 1 + round % LONGEST;
        MPI_Request requests[2];
        OK(MPI_Irecv(got, LONGEST, MPI_INT, left, 1, comm, &requests[0]));
        OK(MPI_Isend(given, count, MPI_INT, right, 1, comm, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_EQ(got[count - 1], left);
        if (round % 8 == 0) {
            MPI_Comm copy;
            OK(MPI_Comm_dup(comm, &copy));
            OK(MPI_Comm_free(&copy));
        }
    }
    OK(MPI_Send(given, 1, MPI_INT, right, 7, comm));
    OK(MPI_Recv(got, 1, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    *(volatile int *)first = 1;
    return NULL;
}

int main(int argc, char **argv) {
    const int with_world = !strcmp(argv[1], "world");
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Session session;
    pthread_t thread;
    int done = 0, token = 0, provided;
    second = argv[3];
    if (with_world) {
        const int level = strcmp(argv[2], "MPI_THREAD_FUNNELED") ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
        OK(MPI_Init_thread(&argc, &argv, level, &provided));
        CHECK_EQ(provided, level);
    } else {
        comm = open_session(argv[2], "first", &session);
    }
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Barrier(comm));
    CHECK(!pthread_create(&thread, NULL, work, &done));
    // Each rank but the first is blocked here until the rank before it is through; the first one is when its session ends.
    if (rank == 0) CHECK(!pthread_join(thread, NULL));
    if (rank > 0) OK(MPI_Recv(&token, 1, MPI_INT, rank - 1, 9, comm, MPI_STATUS_IGNORE));
    if (rank < size - 1) OK(MPI_Send(&token, 1, MPI_INT, rank + 1, 9, comm));
    if (rank > 0) CHECK(!pthread_join(thread, NULL));
    CHECK_EQ(done, 1);
    if (with_world) {
        OK(MPI_Finalize());
    } else {
        OK(MPI_Comm_free(&comm));
        OK(MPI_Session_finalize(&session));
    }
    return 0;
}
