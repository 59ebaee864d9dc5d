! ranks: 1 2 3 8
! timeout: 120
! Every collective operation, with operations of the program's own; counts and displacements of the wide kinds.
#define BY_MPI_F08
#define LARGE
#include "../bodies/collectives.inc"
