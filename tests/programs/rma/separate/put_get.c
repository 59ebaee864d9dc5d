// ranks: 1 2 4
// timeout: 60
// env: OXMPI_SINGLE_COPY=0
// Memory of other processes cannot be reached with system calls: windows of MPI_Win_create have public copies.
#include "../put_get.c"
