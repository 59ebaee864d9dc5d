! ranks: 1 2 3 8
! timeout: 120
! no-check: objects are left at the end
! One-sided communication: windows of all kinds.
#define BY_MPI
#include "../bodies/windows.inc"
