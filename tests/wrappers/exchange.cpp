// Two ranks exchange a number, in C++.
#include <mpi.h>

#include <iostream>
#include <string>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int mine = 100 + rank, theirs = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, 5, &theirs, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::cout << "rank " + std::to_string(rank) + " got " + std::to_string(theirs) + "\n";
    MPI_Finalize();
}
