! ranks: 1 2 3 8
! timeout: 120
! no-check: objects are left at the end
! Groups, communicators, attributes and names.
#define BY_MPI
#include "../bodies/communicators.inc"
