// ranks: 1 2 4 8
// Communicators made and freed more than a hundred thousand times, and thousands at a time: contexts are used again, never twice at a
// time, and memory does not grow.
#include "../check.h"

// Debug builds of the library go round after 131,072.
#define CYCLES 133000
#define LIVE 6000

static void exchange(MPI_Comm comm, int value) {
    int got = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    OK(MPI_Sendrecv(&value, 1, MPI_INT, next, 0, &got, 1, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE));
    CHECK_EQ(got, value);
}

static void cycles(int from, int to) {
    for (int i = from; i < to; i++) {
        MPI_Comm comm;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        if (i % 1000 == 0) exchange(comm, i);
        OK(MPI_Comm_free(&comm));
    }
}

int main(int argc, char **argv) {
    static MPI_Comm comms[LIVE];
    start(&argc, &argv);
    return_errors();
    // A communicator that is kept is still valid when the context numbers are reused.
    MPI_Comm kept;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &kept));
    int value = rank, late = -1;
    MPI_Request pending;
    OK(MPI_Irecv(&late, 1, MPI_INT, (rank + size - 1) % size, 0, kept, &pending));
    cycles(0, 2000);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    long before = resident_kib();
    cycles(2000, CYCLES);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(resident_kib() - before < 4096 + provider_kib());
    OK(MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, kept));
    OK(MPI_Wait(&pending, MPI_STATUS_IGNORE));
    CHECK_EQ(late, (rank + size - 1) % size);
    OK(MPI_Comm_free(&kept));

    // Many at a time, of several kinds; all of them work, and no message strays.
    for (int i = 0; i < LIVE; i++) {
        if (i % 3 == 0) OK(MPI_Comm_dup(i ? comms[i / 2] : MPI_COMM_WORLD, &comms[i]));
        else if (i % 3 == 1) OK(MPI_Comm_split(comms[i - 1], 0, rank, &comms[i]));
        else {
            MPI_Group group;
            OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
            OK(MPI_Comm_create_group(comms[0], group, i, &comms[i]));
            OK(MPI_Group_free(&group));
        }
    }
    enum { SOME = 500 };
    static int got[SOME], out[SOME];
    static MPI_Request requests[2 * SOME];
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int i = 0; i < SOME; i++) {
        got[i] = -1;
        OK(MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i * (LIVE / SOME)], &requests[i]));
    }
    for (int i = SOME - 1; i >= 0; i--) {
        out[i] = 10 * i + rank;
        OK(MPI_Isend(&out[i], 1, MPI_INT, next, 0, comms[i * (LIVE / SOME)], &requests[SOME + i]));
    }
    OK(MPI_Waitall(2 * SOME, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < SOME; i++) CHECK_EQ(got[i], 10 * i + last);
    for (int i = 0; i < LIVE; i++) OK(MPI_Comm_free(&comms[(i * 7919) % LIVE]));
    cycles(0, 100);
    return finish();
}
