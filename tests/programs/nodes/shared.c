// ranks: 3 4
// launch: --pretend-nodes 3:cyclic
// As ../file/shared.c, on several nodes.
#include "../file/shared.c"
