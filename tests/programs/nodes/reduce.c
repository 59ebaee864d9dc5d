// ranks: 3 6
// launch: --pretend-nodes 3:cyclic
// cflags: -O2
// As ../coll/reduce.c, on several nodes.
#include "../coll/reduce.c"
