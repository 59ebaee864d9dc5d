// ranks: 1 2 4
// launch: --check=strict,error
// Sends that need no storage: the last rank receives first; a message to the rank itself; other modes.
#include "../check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int value = rank, other = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request request;
    if (rank == size - 1) MPI_Irecv(&other, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&value, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    if (rank == size - 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
    else MPI_Recv(&other, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(other, before);
    MPI_Isend(&value, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(&other, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request kept;
    MPI_Send_init(&value, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &kept);
    MPI_Start(&kept);
    MPI_Recv(&other, 1, MPI_INT, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
    MPI_Request_free(&kept);
    MPI_Isend(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&other, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&value, 1, MPI_INT, next, 2, &other, 1, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
    MPI_Recv(&other, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return finish();
}
