! ranks: 1 2
! timeout: 120
! Errors, info objects, memory, callbacks.
#define BY_MPI_F08
#include "../bodies/environment.inc"
