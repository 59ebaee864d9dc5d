! ranks: 1 2 3 8
! timeout: 120
! Messages between all neighbours of a ring, in every way that there is.
#define BY_MPI
#include "../bodies/pt2pt.inc"
