! ranks: 1 2 6 8
! timeout: 120
! cflags: -fdefault-integer-8
! Grids, graphs and distributed graphs, with INTEGERs of eight bytes.
#define BY_MPI_F08
#include "../bodies/topologies.inc"
