// ranks: 6
// launch: --pretend-nodes 3:cyclic
// cflags: -O2
// As ../coll/neighbor.c, on several nodes.
#include "../coll/neighbor.c"
