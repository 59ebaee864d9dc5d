// ranks: 1
// The tool functions can be intercepted like all others, and exist under their second names.
#include "tool.h"

static int calls;

int MPI_T_cvar_get_num(int *num) {
    calls++;
    return PMPI_T_cvar_get_num(num);
}

int main(int argc, char **argv) {
    int provided = -1, n = -1, again = -1, index = -1;
    CODE(PMPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    CODE(PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    start(&argc, &argv);
    CODE(MPI_T_cvar_get_num(&n), MPI_SUCCESS);
    CHECK_EQ(calls, 1);
    CODE(PMPI_T_cvar_get_num(&again), MPI_SUCCESS);
    CHECK_EQ(again, n);
    CHECK_EQ(calls, 1);
    CODE(PMPI_T_pvar_get_index("oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    CHECK_EQ(index, pvar_index("oxmpi_sleeps", MPI_T_PVAR_CLASS_COUNTER));
    CODE(PMPI_T_finalize(), MPI_SUCCESS);
    CODE(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    return finish();
}
