// ranks: 3
// sleeps: ranks wait for seconds before they go on
// one-host: some cases use shared memory
// timeout: 120
// env: OXMPI_SINGLE_COPY=0
// args: bcast_forwarders
// args: other_tag_first
// args: freed_long_send
// args: long_stream
// As right.c, where long messages go in parts because direct copies are forbidden.
#include "right.c"
