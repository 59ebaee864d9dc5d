! ranks: 1 2 3 8
! timeout: 120
! Messages between all neighbours of a ring, in every way that there is; counts and displacements of the wide kinds.
#define BY_MPI_F08
#define LARGE
#include "../bodies/pt2pt.inc"
