// ranks: 2
// launch: --check=error
// expect-exit: 122
// expect-stderr: OX-TYPE-MESSAGE: rank 1: the message of MPI_
// args: recv
// args: late
// args: irecv
// args: any
// args: long
// args: ssend
// args: bsend
// args: sendrecv
// args: mprobe
// args: persistent
// args: unsigned
// args: struct
// args: order
// args: prefix
// args: char
// Messages that are received as another type than they were sent as.
#include "../check.h"
#include <string.h>

enum { COUNT = 8, LONG = 1 << 18 };
static int ints[LONG];
static float floats[LONG];

static MPI_Datatype pair(MPI_Datatype first, MPI_Datatype second) {
    MPI_Datatype type, types[2] = {first, second};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 8};
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    return type;
}

static void exchange(int count, MPI_Datatype sent, MPI_Datatype received) {
    if (rank == 0) MPI_Send(ints, count, sent, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(floats, count, received, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *mode = argv[1];
    MPI_Request request;
    if (!strcmp(mode, "recv")) exchange(COUNT, MPI_INT, MPI_FLOAT);
    if (!strcmp(mode, "long")) exchange(LONG, MPI_INT, MPI_FLOAT);
    if (!strcmp(mode, "unsigned")) exchange(COUNT, MPI_INT, MPI_UNSIGNED);
    if (!strcmp(mode, "char")) exchange(COUNT, MPI_CHAR, MPI_SIGNED_CHAR);
    if (!strcmp(mode, "late")) {
        if (rank == 0) MPI_Send(ints, COUNT, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(floats, COUNT, MPI_FLOAT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(mode, "irecv")) {
        if (rank == 1) MPI_Irecv(floats, COUNT, MPI_FLOAT, 0, 7, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Isend(ints, COUNT, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!strcmp(mode, "any")) {
        if (rank == 0) MPI_Send(ints, COUNT, MPI_INT, 1, 7, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(floats, COUNT, MPI_FLOAT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(mode, "ssend")) {
        if (rank == 0) MPI_Ssend(ints, COUNT, MPI_INT, 1, 7, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(floats, COUNT, MPI_FLOAT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(mode, "bsend")) {
        static char buffer[1024 + MPI_BSEND_OVERHEAD];
        MPI_Buffer_attach(buffer, sizeof buffer);
        if (rank == 0) MPI_Bsend(ints, COUNT, MPI_INT, 1, 7, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(floats, COUNT, MPI_FLOAT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        void *detached;
        int size;
        MPI_Buffer_detach(&detached, &size);
    }
    if (!strcmp(mode, "sendrecv"))
        MPI_Sendrecv(ints, COUNT, MPI_INT, 1 - rank, 7, floats, COUNT, rank ? MPI_FLOAT : MPI_INT, 1 - rank, 7,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(mode, "mprobe")) {
        if (rank == 0) MPI_Send(ints, COUNT, MPI_INT, 1, 7, MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Message message;
            MPI_Mprobe(0, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(floats, COUNT, MPI_FLOAT, &message, MPI_STATUS_IGNORE);
        }
    }
    if (!strcmp(mode, "persistent")) {
        if (rank == 0) MPI_Send_init(ints, COUNT, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
        if (rank == 1) MPI_Recv_init(floats, COUNT, MPI_FLOAT, 0, 7, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 3; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    }
    if (!strcmp(mode, "struct") || !strcmp(mode, "order")) {
        MPI_Datatype sent = pair(MPI_INT, MPI_DOUBLE);
        MPI_Datatype received = mode[0] == 's' ? pair(MPI_INT, MPI_LONG) : pair(MPI_DOUBLE, MPI_INT);
        exchange(2, sent, received);
        MPI_Type_free(&sent);
        MPI_Type_free(&received);
    }
    if (!strcmp(mode, "prefix")) {
        MPI_Datatype received = pair(MPI_INT, MPI_DOUBLE);
        if (rank == 0) MPI_Send(ints, 3, MPI_INT, 1, 7, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(floats, 5, received, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&received);
    }
    return finish();
}
