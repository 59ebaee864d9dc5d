! ranks: 1 3
! cflags: -fdefault-integer-8
! LOGICALs of another compiler, of eight bytes.
#include "../mpif/booleans.f90"
