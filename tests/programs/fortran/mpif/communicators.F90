! ranks: 1 2 3 8
! timeout: 120
! one-host: it expects that all ranks share memory
! Groups, communicators, attributes and names.
#define BY_MPIF
#include "../bodies/communicators.inc"
