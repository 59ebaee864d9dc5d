// ranks: 5
// launch: --pretend-nodes 2
// cflags: -O2
// As ../coll/alltoall.c, on several nodes.
#include "../coll/alltoall.c"
