// ranks: 1 2 3 4 7 8
// A second initialisation is an error, by either function; the first one stays in force.
#include "../check.h"

int main(int argc, char **argv) {
    int provided;
    start(&argc, &argv);
    return_errors();
    CHECK_ERROR(MPI_Init(&argc, &argv), MPI_ERR_OTHER, "MPI_Init");
    CHECK_ERROR(MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided), MPI_ERR_OTHER, "MPI_Init_thread");
    MPI_Barrier(MPI_COMM_WORLD);
    return finish();
}
