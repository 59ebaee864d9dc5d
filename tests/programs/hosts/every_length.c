// ranks: 5
// launch: --pretend-hosts 3
// timeout: 120
// As ../coll/every_length.c, between hosts of different sizes.
#include "../coll/every_length.c"
