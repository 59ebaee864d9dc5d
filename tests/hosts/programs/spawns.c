// spawns HOSTS NUMBER [wait]: the ranks spawn so many processes on these hosts (`-`: all of the job), which say where they are
// and meet the others. With `wait`, all of them stay in MPI for ever.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm parent, other;
    int rank, size, length, sum, number = 1, waits;
    char name[MPI_MAX_PROCESSOR_NAME], text[MPI_MAX_ERROR_STRING];
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(name, &length);
    if (parent == MPI_COMM_NULL) {
        if (argc < 3) return 2;
        MPI_Info info;
        MPI_Info_create(&info);
        if (strcmp(argv[1], "-")) MPI_Info_set(info, "host", argv[1]);
        char *arguments[] = {"child", argc > 3 ? argv[3] : NULL, NULL};
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        int code = MPI_Comm_spawn(argv[0], arguments, atoi(argv[2]), info, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
        if (code != MPI_SUCCESS) {
            MPI_Error_string(code, text, &length);
            printf("rank %d cannot spawn: %s\n", rank, text);
            MPI_Finalize();
            return 0;
        }
        waits = argc > 3;
        printf("rank %d on %s has spawned\n", rank, name);
    } else {
        other = parent;
        waits = argc > 2;
        printf("child %d on %s\n", rank, name);
    }
    fflush(stdout);
    MPI_Comm_remote_size(other, &size);
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, other);
    if (sum != size) MPI_Abort(MPI_COMM_WORLD, 1);
    if (waits) printf("%s %d waits\n", parent == MPI_COMM_NULL ? "rank" : "child", rank), fflush(stdout);
    if (waits) MPI_Recv(&sum, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    return 0;
}
