// ranks: 3
// launch: --with-ft ulfm
// expect-stderr: was killed by signal 9
// no-valgrind: a rank is killed
// Messages that the dead had sent whole are received, by receives posted before and after it died. One that was only
// announced is lost, and no probe shows it.
#include "ft.h"

enum { DEAD = 1, MESSAGES = 20, LENGTH = 8 << 20 };

int main(int argc, char **argv) {
    ft_start(&argc, &argv);
    int got[MESSAGES] = {0}, flag = 1, first = -1;
    char *buf = get_memory(LENGTH);
    MPI_Request early, announced;
    MPI_Status status;
    memset(buf, 2, LENGTH);
    if (rank == 0) OK(MPI_Irecv(&first, 1, MPI_INT, DEAD, 0, MPI_COMM_WORLD, &early));
    meet_at(DEAD);
    if (rank == DEAD) {
        for (int i = 0; i < MESSAGES; i++) OK(MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
        OK(MPI_Isend(buf, LENGTH, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &announced));
        die();
    }
    if (rank == 0) {
        await_failures(MPI_COMM_WORLD, 1);
        OK(MPI_Wait(&early, &status));
        CHECK_EQ(first, 0);
        OK(MPI_Probe(DEAD, 0, MPI_COMM_WORLD, &status));
        for (int i = 1; i < MESSAGES; i++) {
            OK(MPI_Recv(&got[i], 1, MPI_INT, i % 2 ? DEAD : MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status));
            CHECK_EQ(got[i], i);
            CHECK_EQ(status.MPI_SOURCE, DEAD);
        }
        FAILS(MPI_Iprobe(DEAD, 1, MPI_COMM_WORLD, &flag, &status), PROC_FAILED);
        FAILS(MPI_Recv(buf, LENGTH, MPI_BYTE, DEAD, 1, MPI_COMM_WORLD, &status), PROC_FAILED);
        CHECK_BYTES(buf, LENGTH, 2);
        FAILS(MPI_Recv(got, 1, MPI_INT, DEAD, 0, MPI_COMM_WORLD, &status), PROC_FAILED);
    }
    free(buf);
    return finish();
}
