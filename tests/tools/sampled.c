// Two ranks that spend half a second in MPI_Allreduce, called by a function of the program.
#include <mpi.h>

static __attribute__((noinline)) int reduce_often(double end)
{
    double mine[64] = {0}, sums[64];
    int stop = 0, calls = 0;
    while (!stop) {
        mine[0] = MPI_Wtime() > end;
        MPI_Allreduce(mine, sums, 64, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        stop = sums[0] > 0;
        calls++;
    }
    return calls;
}

int main(int argc, char **argv)
{
    int calls;
    MPI_Init(&argc, &argv);
    calls = reduce_often(MPI_Wtime() + 0.5);
    MPI_Finalize();
    return calls == 0;
}
