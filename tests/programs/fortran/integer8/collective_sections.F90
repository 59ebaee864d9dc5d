! ranks: 1 3
! cflags: -fdefault-integer-8
! Collective operations on array sections with gaps, with INTEGERs of eight bytes.
#include "../mpi_f08/collective_sections.f90"
