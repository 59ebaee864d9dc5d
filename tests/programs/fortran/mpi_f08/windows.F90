! ranks: 1 2 3 8
! timeout: 120
! no-check: objects are left at the end
! One-sided communication: windows of all kinds.
#define BY_MPI_F08
#include "../bodies/windows.inc"
