! ranks: 1 2 6 8
! timeout: 120
! Grids, graphs and distributed graphs.
#define BY_MPI
#include "../bodies/topologies.inc"
