! ranks: 1 2
! timeout: 120
! Every constructor of datatypes.
#define BY_MPIF
#include "../bodies/datatypes.inc"
