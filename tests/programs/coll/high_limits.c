// ranks: 2 3
// timeout: 120
// env: OXMPI_TUNING=eager=32768,bcast2=262144,gather2=65536,scatter2=65536,allgather2=262144,alltoall2=262144,reduce2=262144,allreduce2=262144,gather=65536,scatter=65536,alltoall=262144
// With the highest limits that `oxmpi tune` can find, every collective operation at every length gives the same results.
#include "every_length.c"
