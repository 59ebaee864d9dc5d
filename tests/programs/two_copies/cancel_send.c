// ranks: 2
// sleeps: the receiver sleeps outside MPI
// env: OXMPI_SINGLE_COPY=0
// one-host: between hosts the receiver decides, when it next calls MPI
// The same as requests/cancel_send.c, through the segment: as where the kernel or a container forbids reading another process's memory.
#include "../requests/cancel_send.c"
