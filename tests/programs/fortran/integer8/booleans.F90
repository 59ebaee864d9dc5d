! ranks: 1 3
! cflags: -fdefault-integer-8
! no-check: objects are left at the end
! LOGICALs of another compiler, of eight bytes.
#include "../mpif/booleans.f90"
