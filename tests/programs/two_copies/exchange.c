// ranks: 2 3 8
// env: OXMPI_SINGLE_COPY=0
// The same as pt2pt/exchange.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../pt2pt/exchange.c"
