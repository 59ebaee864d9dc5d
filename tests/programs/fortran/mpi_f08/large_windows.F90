! ranks: 1 2 3 8
! timeout: 120
! no-check: objects are left at the end
! One-sided communication: windows of all kinds; counts and displacements of the wide kinds.
#define BY_MPI_F08
#define LARGE
#include "../bodies/windows.inc"
