// ranks: 4
// launch: --pretend-nodes 2
// As ../file/views.c, on several nodes.
#include "../file/views.c"
