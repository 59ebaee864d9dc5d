// Prints which library this program for another ABI has found, and its rank.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, rank, size, major, minor;
    MPI_Init(&argc, &argv);
    MPI_Get_library_version(version, &length);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int (*get_version)(int *, int *) = dlsym(RTLD_DEFAULT, "MPI_Abi_get_version");
    get_version(&major, &minor);
    if (major != -1 || minor != -1) MPI_Abort(MPI_COMM_WORLD, 1);
    version[strcspn(version, " \n")] = 0;
    printf("%s %d of %d\n", version, rank, size);
    MPI_Finalize();
    return 0;
}
