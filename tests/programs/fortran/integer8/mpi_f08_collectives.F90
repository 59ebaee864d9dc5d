! ranks: 1 2 3 8
! timeout: 120
! cflags: -fdefault-integer-8
! Every collective operation, with operations of the program's own, with INTEGERs of eight bytes.
#define BY_MPI_F08
#include "../bodies/collectives.inc"
