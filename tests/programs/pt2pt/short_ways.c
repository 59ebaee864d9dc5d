// ranks: 2 3 5 8
// Short messages that are here when MPI_Recv is called take short ways. They keep the order of MPI: receives that were posted
// before go first, of stored messages the oldest that matches, of one sender's messages the first; and a sender that never
// pauses keeps no other one waiting.
#include "../check.h"

enum { EACH = 2000, TAG = 3, LAST = 4, NEWS = 5 };

// A receive from any source that was posted before gets the first message, whichever way the second receive is made.
static void posted_first(void) {
    int from = 1, value = -1, early = -1;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == from)
        for (int i = 0; i < 3; i++) MPI_Send(&i, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Request request;
        MPI_Irecv(&early, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &request);
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status);
        CHECK_EQ(value, 1);
        CHECK_STATUS(status, from, TAG, (int)sizeof value);
        MPI_Wait(&request, &status);
        CHECK_EQ(early, 0);
        MPI_Recv(&value, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_EQ(value, 2);
        CHECK_STATUS(status, from, TAG, (int)sizeof value);
    }
}

// Messages that are stored, received in many orders: oldest first, newest first, by any tag, and with one that is too long
// for its buffer or waits for its receiver among them.
static void stored(void) {
    int value = -1, count = 20;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Request request;
        for (int i = 0; i < count; i++) MPI_Send(&i, 1, MPI_INT, 0, 10 + i, MPI_COMM_WORLD);
        MPI_Issend(&count, 1, MPI_INT, 0, 10 + count, MPI_COMM_WORLD, &request);
        MPI_Send(&value, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank != 0) return;
    MPI_Recv(&value, 1, MPI_INT, 1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 1, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 0);
    MPI_Recv(&value, 1, MPI_INT, 1, 10 + count - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value, count - 1);
    char byte = 'x';
    CHECK_CLASS(MPI_Recv(&byte, 1, MPI_BYTE, 1, 15, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    for (int i = 1; i <= count; i++) {
        if (i == 5 || i == count - 1) continue;
        int source = i % 3 ? 1 : MPI_ANY_SOURCE;
        MPI_Recv(&value, 1, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_EQ(value, i);
        CHECK_STATUS(status, 1, 10 + i, (int)sizeof value);
    }
}

// The others send without waiting for anything, short messages and some longer ones.
static void flood(void) {
    static int longer[2000];
    int next[64] = {0};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        for (int i = 0; i < EACH; i++) {
            longer[0] = i;
            MPI_Send(longer, i % 100 == 99 ? 2000 : 1 + i % 20, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        }
        return;
    }
    for (int i = 0; i < EACH * (size - 1); i++) {
        MPI_Status status;
        int count = -1;
        MPI_Recv(longer, 2000, MPI_INT, MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &status);
        int from = status.MPI_SOURCE, k = next[from]++;
        CHECK_EQ(longer[0], k);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQ(count, k % 100 == 99 ? 2000 : 1 + k % 20);
    }
}

// Rank 1 never pauses while rank 0 listens; what rank 2 has to say comes through all the same.
static void two_voices(void) {
    int value = 0, stop = 0;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Request stopped;
        MPI_Irecv(&stop, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD, &stopped);
        for (int done = 0; !done; MPI_Test(&stopped, &done, MPI_STATUS_IGNORE))
            for (int i = 0; i < 100; i++) MPI_Send(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 0, LAST, MPI_COMM_WORLD);
    }
    if (rank == 2) MPI_Send(&value, 1, MPI_INT, 0, NEWS, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int heard = size < 3; !heard; heard = status.MPI_TAG == NEWS)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Send(&stop, 1, MPI_INT, 1, LAST, MPI_COMM_WORLD);
        do MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        while (status.MPI_TAG != LAST);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    posted_first();
    stored();
    flood();
    two_voices();
    return finish();
}
