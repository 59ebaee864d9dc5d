! ranks: 1 2
! timeout: 120
! cflags: -fdefault-integer-8
! Every constructor of datatypes, with INTEGERs of eight bytes.
#define BY_MPIF
#include "../bodies/datatypes.inc"
