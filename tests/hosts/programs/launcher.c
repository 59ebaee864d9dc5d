/* Says what the control variable oxmpi_launcher has. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int provided, index, count;
    char text[256] = "";
    MPI_T_cvar_handle handle;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("oxmpi_launcher", &index) != MPI_SUCCESS) return 1;
    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS || count > (int)sizeof text) return 1;
    if (MPI_T_cvar_read(handle, text) != MPI_SUCCESS) return 1;
    MPI_T_cvar_handle_free(&handle);
    MPI_T_finalize();
    printf("oxmpi_launcher is %s\n", text);
    MPI_Finalize();
    return 0;
}
