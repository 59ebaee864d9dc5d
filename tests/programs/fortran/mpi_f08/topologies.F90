! ranks: 1 2 6 8
! timeout: 120
! Grids, graphs and distributed graphs.
#define BY_MPI_F08
#include "../bodies/topologies.inc"
