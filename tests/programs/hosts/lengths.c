// ranks: 3
// launch: --pretend-hosts 2
// As ../coll/lengths.c, between hosts.
#include "../coll/lengths.c"
