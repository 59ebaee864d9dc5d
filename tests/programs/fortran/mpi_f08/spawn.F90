! ranks: 1 2
! timeout: 120
! A program that spawns itself.
#define BY_MPI_F08
#include "../bodies/spawn.inc"
