! ranks: 1 2 3 8
! timeout: 120
! Every collective operation, with operations of the program's own.
#define BY_MPI
#include "../bodies/collectives.inc"
