// ranks: 2 3
// env: OXMPI_SINGLE_COPY=0
// no-check: requests are left at the end
// The same as environment/finalize_pending.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../environment/finalize_pending.c"
