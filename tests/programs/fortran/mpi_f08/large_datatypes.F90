! ranks: 1 2
! timeout: 120
! Every constructor of datatypes; counts and displacements of the wide kinds.
#define BY_MPI_F08
#define LARGE
#include "../bodies/datatypes.inc"
