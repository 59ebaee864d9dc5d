! ranks: 1 2 3 8
! timeout: 120
! one-host: it expects that all ranks share memory
! Groups, communicators, attributes and names.
#define BY_MPI_F08
#include "../bodies/communicators.inc"
