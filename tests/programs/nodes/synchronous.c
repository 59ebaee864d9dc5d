// ranks: 2 4
// launch: --pretend-nodes 2
// As ../pt2pt/synchronous.c, on several nodes.
#include "../pt2pt/synchronous.c"
