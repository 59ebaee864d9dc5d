// ranks: 2
// env: OXMPI_SINGLE_COPY=0
// timeout: 120
// cflags: -O2
// The same as pt2pt/sizes.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../pt2pt/sizes.c"
