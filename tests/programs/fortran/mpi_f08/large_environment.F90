! ranks: 1 2
! timeout: 120
! Errors, info objects, memory, callbacks; counts and displacements of the wide kinds.
#define BY_MPI_F08
#define LARGE
#include "../bodies/environment.inc"
