! ranks: 1 2 5
! cflags: -fdefault-integer-8
! Every reduction on every type, with INTEGERs of eight bytes.
#include "../mpi_f08/reductions.F90"
