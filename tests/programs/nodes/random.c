// ranks: 4
// launch: --pretend-nodes 3:cyclic
// timeout: 120
// cflags: -O2
// As ../pt2pt/random.c, on several nodes.
#include "../pt2pt/random.c"
