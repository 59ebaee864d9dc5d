! ranks: 1 2
! timeout: 120
! Every constructor of datatypes.
#define BY_MPI
#include "../bodies/datatypes.inc"
