// ranks: 2 3
// launch: --check=error
// Messages whose types match although they are not the same: nothing is told.
#include "../check.h"
#include <string.h>

enum { COUNT = 24, LONG = 1 << 18 };
static char out[LONG * 8], in[LONG * 8];

static void exchange(int sent, MPI_Datatype from, int room, MPI_Datatype to) {
    MPI_Request request;
    if (rank == 0) MPI_Send(out, sent, from, 1, 7, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(in, room, to, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Irecv(in, room, to, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Issend(out, sent, from, 1, 8, MPI_COMM_WORLD, &request);
    if (rank < 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Datatype ten, rows, padded, mixed, twice;
    MPI_Type_contiguous(10, MPI_INT, &ten);
    MPI_Type_commit(&ten);
    MPI_Type_vector(5, 2, 3, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    int lengths[3] = {1, 4, 1};
    MPI_Aint places[3] = {0, 4, 8};
    MPI_Datatype types[3] = {MPI_INT, MPI_BYTE, MPI_DOUBLE}, flat[3] = {MPI_INT, MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(3, lengths, places, types, &padded);
    MPI_Type_commit(&padded);
    lengths[1] = 1;
    MPI_Type_create_struct(3, lengths, places, flat, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Type_dup(mixed, &twice);

    exchange(10, MPI_INT, 100, MPI_INT);
    exchange(10, MPI_INT, 1, ten);
    exchange(7, MPI_INT, 3, ten);
    exchange(2, ten, 2, rows);
    exchange(3, rows, 30, MPI_INTEGER);
    exchange(5, MPI_2INT, 10, MPI_INT);
    exchange(10, MPI_INT32_T, 5, MPI_2INTEGER);
    exchange(4, padded, 4, mixed);
    exchange(4, mixed, 4, twice);
    exchange(4, mixed, 64, MPI_BYTE);
    exchange(4, mixed, 64, MPI_PACKED);
    exchange(64, MPI_PACKED, 8, MPI_DOUBLE);
    exchange(6, MPI_LONG, 6, MPI_INT64_T);
    exchange(6, MPI_UNSIGNED_LONG, 6, MPI_UINT64_T);
    exchange(6, MPI_C_DOUBLE_COMPLEX, 6, MPI_DOUBLE_COMPLEX);
    exchange(6, MPI_CHAR, 6, MPI_CHARACTER);
    exchange(0, MPI_INT, 6, MPI_DOUBLE);
    exchange(0, MPI_INT, 0, MPI_DOUBLE);
    exchange(LONG, MPI_INT, LONG / 10 + 1, ten);
    exchange(3, MPI_DOUBLE_INT, 3, MPI_DOUBLE_INT);

    // Requests of sends that were complete at once are completed, freed and tested like others.
    MPI_Request requests[4];
    int done;
    for (int i = 0; i < 4; i++) requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; rank == 0 && i < 4; i++) MPI_Isend(out, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; rank == 1 && i < 4; i++) MPI_Irecv(in + 8 * i, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &requests[i]);
    if (rank == 0) MPI_Request_free(&requests[0]);
    do MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
    while (!done);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);

    MPI_Type_free(&ten);
    MPI_Type_free(&rows);
    MPI_Type_free(&padded);
    MPI_Type_free(&mixed);
    MPI_Type_free(&twice);
    return finish();
}
