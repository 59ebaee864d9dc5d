! ranks: 1 3
! cflags: -fdefault-integer-8
! Requests whose buffers are array sections, with INTEGERs of eight bytes.
#include "../mpi_f08/completion_sections.f90"
