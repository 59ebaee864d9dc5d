// ranks: 1 2 3
// Each rank may ask for another level and gets at least that; the query says the same.
#include "../check.h"

int main(int argc, char **argv) {
    static const int levels[] = {MPI_THREAD_FUNNELED, MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED};
    int provided = -1, asked = -1, value = -1;
    // The rank is not known before initialisation: ask by the process's number instead.
    int required = levels[getpid() % 3];
    OK(MPI_Init_thread(&argc, &argv, required, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided >= required && provided <= MPI_THREAD_MULTIPLE);
    OK(MPI_Query_thread(&asked));
    CHECK_EQ(asked, provided);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &value, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK_EQ(value, (rank + size - 1) % size);
    return finish();
}
