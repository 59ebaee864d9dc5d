! ranks: 1 3
! expect-exit: 7
! expect-stdout: the last words
! expect-stderr: called MPI_Abort with code 7
! cflags: -fdefault-integer-8
! A rank ends the job, with INTEGERs of eight bytes.
#define BY_MPI
#include "../bodies/abort.inc"
