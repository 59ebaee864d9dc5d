// ranks: 1 3
// env: OXMPI_EXPLAIN=1
// A tool that sets OXMPI_EXPLAIN to off is obeyed: nothing is said on stderr.
#include "tool.h"

int main(int argc, char **argv) {
    const int off = 0;
    int count, value = 1, sum = 0;
    MPI_T_cvar_handle explain;
    char path[64];
    snprintf(path, sizeof path, "stderr.%d", (int)getpid());
    start_tool();
    CODE(MPI_T_cvar_handle_alloc(cvar_index("OXMPI_EXPLAIN"), NULL, &explain, &count), MPI_SUCCESS);
    CODE(MPI_T_cvar_write(explain, &off), MPI_SUCCESS);
    int kept = dup(2);
    if (!freopen(path, "w", stderr)) return 1;
    start(&argc, &argv);
    MPI_Request request;
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; i++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    fflush(stderr);
    long said = ftell(stderr);
    int size_of = (int)lseek(2, 0, SEEK_END);
    dup2(kept, 2);
    unlink(path);
    CHECK_EQ(said, 0);
    CHECK_EQ(size_of, 0);
    CHECK_EQ(sum, size);
    MPI_Finalize();
    CODE(MPI_T_finalize(), MPI_SUCCESS);
    return 0;
}
