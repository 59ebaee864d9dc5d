! ranks: 1 2
! timeout: 120
! A program that spawns itself.
#define BY_MPI
#include "../bodies/spawn.inc"
