// ranks: 5
// launch: --pretend-nodes 2
// timeout: 60
// As ../coll/background.c, on several nodes.
#include "../coll/background.c"
