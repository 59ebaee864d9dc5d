// ranks: 4
// launch: --pretend-nodes 2
// no-check: ranks give different views
// As ../file/views.c, on several nodes.
#include "../file/views.c"
