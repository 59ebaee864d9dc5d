! ranks: 1 2
! timeout: 120
! cflags: -fdefault-integer-8
! Errors, info objects, memory, callbacks, with INTEGERs of eight bytes.
#define BY_MPI_F08
#include "../bodies/environment.inc"
