// ranks: 2
// sleeps: a rank sleeps outside MPI while the others wait
// env: OXMPI_SINGLE_COPY=0
// The same as pt2pt/idle.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../pt2pt/idle.c"
