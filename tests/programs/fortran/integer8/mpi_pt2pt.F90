! ranks: 1 2 3 8
! timeout: 120
! cflags: -fdefault-integer-8
! Messages between all neighbours of a ring, in every way that there is, with INTEGERs of eight bytes.
#define BY_MPI
#include "../bodies/pt2pt.inc"
