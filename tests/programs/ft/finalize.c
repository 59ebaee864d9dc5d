// ranks: 2 5
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// MPI_Finalize waits for no failed process, whatever is pending; one dies while the others are in it.
#include "ft.h"

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int value = 1;
    MPI_Request request;
    meet_at(size - 1);
    if (rank == size - 1) {
        sleep_ms(300);
        die();
    }
    if (rank % 2) {
        await_failures(MPI_COMM_WORLD, 1);
        OK(MPI_Isend(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, &request));
        OK(MPI_Request_free(&request));
    }
    double begin = MPI_Wtime();
    OK(MPI_Finalize());
    CHECK(MPI_Wtime() - begin < 10);
    return 0;
}
