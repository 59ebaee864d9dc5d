// A token goes round all processes; each adds its rank before it passes the token on.
//
//   mpicc ring.c -o ring
//   mpirun -n 4 ./ring

#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    int next = (rank + 1) % size;
    int previous = (rank + size - 1) % size;

    // A tag tells different kinds of messages apart; a receive takes only messages with its tag.
    const int tag = 7;
    int token = 0;

    if (size == 1) {
        // A blocking send to oneself could wait for a receive that never comes.
        printf("The ring has one member; the token stays at %d\n", token);
    } else if (rank == 0) {
        // Rank 0 starts the round and ends it; everyone else receives first.
        MPI_Send(&token, 1, MPI_INT, next, tag, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("The token is back at rank 0 with the value %d\n", token);
    } else {
        MPI_Recv(&token, 1, MPI_INT, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
        printf("Rank %d passes %d on to rank %d\n", rank, token, next);
        MPI_Send(&token, 1, MPI_INT, next, tag, MPI_COMM_WORLD);
    }

    int expected = size * (size - 1) / 2;
    if (rank == 0 && token != expected) {
        fprintf(stderr, "the token should be %d\n", expected);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
