! ranks: 1 2 3 8
! timeout: 120
! cflags: -fdefault-integer-8
! no-check: objects are left at the end
! One-sided communication: windows of all kinds, with INTEGERs of eight bytes.
#define BY_MPI_F08
#include "../bodies/windows.inc"
