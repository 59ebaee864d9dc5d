! ranks: 1 2
! timeout: 120
! Errors, info objects, memory, callbacks.
#define BY_MPI
#include "../bodies/environment.inc"
