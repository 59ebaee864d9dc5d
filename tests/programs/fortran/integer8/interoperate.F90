! ranks: 1 2
! cflags: -fdefault-integer-8
! C and Fortran in one program, with INTEGERs of eight bytes.
#include "../mpi/interoperate.f90"
