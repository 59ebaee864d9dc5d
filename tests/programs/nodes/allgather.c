// ranks: 7
// launch: --pretend-nodes 3
// cflags: -O2
// As ../coll/allgather.c, on several nodes.
#include "../coll/allgather.c"
