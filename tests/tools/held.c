// Tells the process of each rank, in the file HELD_PASSED too. `wait FILE`: then waits until that file is gone. `spawn FILE`: so
// do two processes that it spawns. `fail`: rank 1 fails.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d pid %d\n", rank, (int)getpid());
    fflush(stdout);
    if (getenv("HELD_PASSED")) {
        FILE *passed = fopen(getenv("HELD_PASSED"), "a");
        fprintf(passed, "rank %d\n", rank);
        fclose(passed);
    }
    if (argc > 2 && strcmp(argv[1], "spawn") == 0) {
        char *arguments[] = {"wait", argv[2], NULL};
        MPI_Comm children;
        MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 2)
        while (access(argv[2], F_OK) == 0)
            usleep(10000);
    if (argc > 1 && strcmp(argv[1], "fail") == 0 && rank == 1)
        exit(7);
    MPI_Finalize();
    return 0;
}
