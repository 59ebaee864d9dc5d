! ranks: 1 2 3
! cflags: -fdefault-integer-8
! no-check: objects are left at the end
! Habits of old programs with the module mpi, with INTEGERs of eight bytes.
#include "../mpi/old_ways.f90"
