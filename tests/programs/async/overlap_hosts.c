// ranks: 2 4
// launch: --pretend-hosts 2 --async-progress
// args: OXMPI_ASYNC_PROGRESS 1
// attempts: 3
// timeout: 120
// one-host: it makes hosts itself
// no-valgrind: what passes in a time is counted
// The same over TCP.
#include "overlap.c"
