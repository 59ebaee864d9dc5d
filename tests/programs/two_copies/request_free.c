// ranks: 2 8
// no-check: frees a receive that is active
// env: OXMPI_SINGLE_COPY=0
// The same as requests/request_free.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../requests/request_free.c"
