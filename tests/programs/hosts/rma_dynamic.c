// ranks: 4
// launch: --pretend-hosts 2
// timeout: 120
// As ../rma/dynamic.c, between hosts: the agent of the target's host executes what others ask for.
#include "../rma/dynamic.c"
