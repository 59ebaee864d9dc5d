! ranks: 1 3
! expect-stdout: counted 2
! cflags: -fdefault-integer-8
! Procedures that stand between the program and MPI, with INTEGERs of eight bytes.
#include "../mpi_f08/profile.f90"
