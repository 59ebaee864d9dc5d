// ranks: 3
// launch: --pretend-hosts 2
// timeout: 120
// As ../rma/whole_elements.c, between hosts: the agent of the target's host executes what others ask for.
#include "../rma/whole_elements.c"
