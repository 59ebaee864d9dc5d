// ranks: 2
// sleeps: a rank sleeps outside MPI while the others wait
// attempts: 3
// A rank blocked for five seconds in MPI_Recv uses less than a tenth of a second of CPU time.
#include "../check.h"

int main(int argc, char **argv) {
    int value = 0;
    start(&argc, &argv);
    if (rank == 0) {
        double cpu = cpu_seconds();
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        cpu = cpu_seconds() - cpu;
        CHECK_EQ(value, 7);
        if (cpu >= 0.1) CHECK_FAIL("%.3f s of CPU time", cpu);
    } else {
        value = 7;
        sleep_ms(5000);
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    return finish();
}
