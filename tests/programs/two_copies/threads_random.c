// ranks: 2 4
// env: OXMPI_SINGLE_COPY=0
// timeout: 120
// cflags: -pthread -O2
// The same as threads/random.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../threads/random.c"
