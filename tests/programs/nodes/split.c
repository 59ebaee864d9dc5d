// ranks: 3 7
// launch: --pretend-nodes 3:cyclic
// As ../comm/split.c, on several nodes.
#include "../comm/split.c"
