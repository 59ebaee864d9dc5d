! ranks: 1 2 6 8
! timeout: 120
! Grids, graphs and distributed graphs.
#define BY_MPIF
#include "../bodies/topologies.inc"
