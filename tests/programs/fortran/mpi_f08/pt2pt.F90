! ranks: 1 2 3 8
! timeout: 120
! Messages between all neighbours of a ring, in every way that there is.
#define BY_MPI_F08
#include "../bodies/pt2pt.inc"
