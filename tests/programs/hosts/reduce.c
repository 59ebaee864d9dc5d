// ranks: 5
// launch: --pretend-hosts 3
// timeout: 120
// As ../coll/reduce.c, between hosts of different sizes.
#include "../coll/reduce.c"
