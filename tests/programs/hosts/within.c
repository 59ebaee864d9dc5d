// ranks: 2 3 5
// sleeps: ranks wait for seconds before they go on
// launch: --pretend-hosts 2
// timeout: 120
// As ../dynamic/within.c, between hosts: ports of ranks of other hosts.
#include "../dynamic/within.c"
