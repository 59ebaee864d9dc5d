! ranks: 1 2 3 8
! cflags: -fdefault-integer-8
! Files: every procedure, and what is in the file afterwards, with INTEGERs of eight bytes.
#define BY_MPIF
#include "../bodies/files.inc"
