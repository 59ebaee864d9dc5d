// ranks: 2 3
// timeout: 120
// env: OXMPI_TUNING=eager=1024,bcast2=1024,gather2=1024,scatter2=1024,allgather2=1024,alltoall2=1024,reduce2=1024,allreduce2=1024,gather=1024,scatter=1024,alltoall=1024
// With the lowest limits that `oxmpi tune` can find, every collective operation at every length gives the same results.
#include "every_length.c"
