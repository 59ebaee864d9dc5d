// ranks: 2 3
// cflags: -O2
// env: OXMPI_SINGLE_COPY=0
// The same as datatype/rows.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../datatype/rows.c"
