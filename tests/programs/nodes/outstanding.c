// ranks: 4
// launch: --pretend-nodes 2:cyclic
// As ../pt2pt/outstanding.c, on several nodes.
#include "../pt2pt/outstanding.c"
