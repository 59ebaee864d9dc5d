// ranks: 5
// launch: --pretend-hosts 3
// timeout: 120
// As ../coll/allgather.c, between hosts of different sizes.
#include "../coll/allgather.c"
