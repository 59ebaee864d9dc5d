// ranks: 1 2 3 4 5 7 8 9
// No process leaves a barrier before all have arrived, in all forms and on both kinds of
// communicators. Each process sends a message to the others just before it arrives: after the
// barrier all these messages must have been sent, so that a probe finds them.
#include "coll.h"

enum { TAG = 5 };
static int late; // the process that comes last
static double on_the_way = 0.001; // seconds that a message may need: less than the late process is late, but between hosts
static MPI_Request sends[16];

// Comes to the barrier; the late one lets the others wait.
static void arrive(const struct place *p, const char *name) {
    describe("%s, %s late, %s", name, late == rank ? "this process" : "another", p->name);
    if (late == rank) sleep_ms(3);
    for (int i = 0; i < p->from; i++)
        if (p->inter || i != p->me) OK(MPI_Isend(&rank, 1, MPI_INT, i, TAG, p->comm, &sends[i]));
}

static void leave(const struct place *p) {
    for (int i = 0; i < p->from; i++)
        if (p->inter || i != p->me) {
            int flag = 0, value = -1;
            // A message that was sent may still be on its way between hosts; one that was never sent does not come.
            double since = MPI_Wtime();
            do OK(MPI_Iprobe(i, TAG, p->comm, &flag, MPI_STATUS_IGNORE));
            while (!flag && MPI_Wtime() - since < on_the_way);
            if (!flag) WRONG("left the barrier before process %d had come", i);
            OK(MPI_Recv(&value, 1, MPI_INT, i, TAG, p->comm, MPI_STATUS_IGNORE));
        } else {
            sends[i] = MPI_REQUEST_NULL;
        }
    OK(MPI_Waitall(p->from, sends, MPI_STATUSES_IGNORE));
}

static void barriers(const struct place *p) {
    for (late = 0; late < size; late++) {
        form = BLOCKING, turn = 0;
        arrive(p, "Barrier");
        OK(MPI_Barrier(p->comm));
        leave(p);
        form = NONBLOCKING;
        arrive(p, "Ibarrier");
        OK(MPI_Ibarrier(p->comm, &request));
        complete();
        leave(p);
        form = PERSISTENT;
        OK(MPI_Barrier_init(p->comm, MPI_INFO_NULL, &request));
        for (turn = 0; turn < TURNS; turn++) {
            arrive(p, "Barrier_init");
            complete();
            leave(p);
        }
    }
}

// A nonblocking barrier that a process has not entered does not complete, however often it is
// tested.
static void unfinished(void) {
    if (size < 2) return;
    int flag = 0, go = 0;
    if (rank == 0) {
        double end = MPI_Wtime() + 0.02;
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        while (MPI_Wtime() < end) {
            OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK_EQ(flag, 0);
        }
        for (int i = 1; i < size; i++) OK(MPI_Send(&go, 1, MPI_INT, i, TAG, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(&go, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    return_errors();
    MPI_Comm host;
    int on_host;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    OK(MPI_Comm_size(host, &on_host));
    OK(MPI_Comm_free(&host));
    // With --check the ranks have more to tell, and share few CPUs.
    if (getenv("OXMPI_CHECK")) on_the_way = 0.05;
    if (on_host < size) on_the_way = 2;
    everywhere(barriers);
    unfinished();
    form = BLOCKING;
    for (int i = 0; i < 2000; i++) OK(MPI_Barrier(MPI_COMM_WORLD));
    return finish();
}
