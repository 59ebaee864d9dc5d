! ranks: 1 2
! timeout: 120
! Errors, info objects, memory, callbacks.
#define BY_MPIF
#include "../bodies/environment.inc"
