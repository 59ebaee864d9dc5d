// ranks: 1 2
// env: OXMPI_SINGLE_COPY=0
// The same as buffered/flush.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../buffered/flush.c"
