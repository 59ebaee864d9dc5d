! ranks: 1 2
! timeout: 120
! A program that spawns itself.
#define BY_MPIF
#include "../bodies/spawn.inc"
