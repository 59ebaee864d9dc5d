// ranks: 3 5
// launch: --pretend-hosts 2
// timeout: 120
// As ../rma/active.c, between hosts: the agent of the target's host executes what others ask for.
#include "../rma/active.c"
