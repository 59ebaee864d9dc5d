! ranks: 1 2
! timeout: 120
! Every constructor of datatypes.
#define BY_MPI_F08
#include "../bodies/datatypes.inc"
