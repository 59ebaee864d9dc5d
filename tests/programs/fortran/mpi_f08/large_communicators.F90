! ranks: 1 2 3 8
! timeout: 120
! no-check: objects are left at the end
! Groups, communicators, attributes and names; counts and displacements of the wide kinds.
#define BY_MPI_F08
#define LARGE
#include "../bodies/communicators.inc"
