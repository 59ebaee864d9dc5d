! ranks: 1 2 3 8
! timeout: 120
! cflags: -fdefault-integer-8
! one-host: it expects that all ranks share memory
! Groups, communicators, attributes and names, with INTEGERs of eight bytes.
#define BY_MPIF
#include "../bodies/communicators.inc"
