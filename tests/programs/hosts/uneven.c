// ranks: 5 8
// launch: --pretend-hosts 3
// timeout: 120
// As ../coll/uneven.c, between hosts of different sizes: blocks go through the leaders of hosts, or straight.
#include "../coll/uneven.c"
