! ranks: 1 2
! cflags: -fdefault-integer-8
! Handles of mpi_f08 with INTEGERs of eight bytes: their integers, comparison, and those of the module mpi.
#include "../mpi_f08/handles.f90"
