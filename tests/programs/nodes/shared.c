// ranks: 3 4
// launch: --pretend-nodes 3:cyclic
// no-check: ranks give different offsets
// As ../file/shared.c, on several nodes.
#include "../file/shared.c"
