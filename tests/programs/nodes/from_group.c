// ranks: 4 8
// launch: --pretend-nodes 3
// As ../comm/from_group.c, on several nodes.
#include "../comm/from_group.c"
