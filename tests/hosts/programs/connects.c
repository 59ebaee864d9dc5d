// connects accept|connect FILE ROUNDS: two jobs connect and disconnect again and again through a port whose name the
// accepting one writes to the file; all processes of both take part, and exchange a number each time.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc < 4) return 2;
    int accepts = !strcmp(argv[1], "accept"), rounds = atoi(argv[3]), rank, sum;
    char port[MPI_MAX_PORT_NAME] = "", temporary[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && accepts) {
        MPI_Open_port(MPI_INFO_NULL, port);
        snprintf(temporary, sizeof temporary, "%s.new", argv[2]);
        FILE *file = fopen(temporary, "w");
        if (!file || fputs(port, file) < 0 || fclose(file) || rename(temporary, argv[2])) MPI_Abort(MPI_COMM_WORLD, 1);
    } else if (rank == 0) {
        FILE *file;
        while (!(file = fopen(argv[2], "r"))) usleep(10000);
        if (!fgets(port, sizeof port, file)) MPI_Abort(MPI_COMM_WORLD, 1);
        fclose(file);
    }
    for (int round = 0; round < rounds; round++) {
        MPI_Comm other;
        int size, given = round + 1;
        if (accepts) MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
        else MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
        MPI_Comm_remote_size(other, &size);
        MPI_Allreduce(&given, &sum, 1, MPI_INT, MPI_SUM, other);
        if (sum != size * (round + 1)) MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Comm_disconnect(&other);
    }
    if (rank == 0) printf("%s %d times\n", accepts ? "accepted" : "connected", rounds);
    if (rank == 0 && accepts) MPI_Close_port(port);
    MPI_Finalize();
    return 0;
}
