// ranks: 3
// launch: --pretend-hosts 2
// timeout: 120
// As ../rma/busy_target.c, between hosts: the agent of the target's host executes what others ask for.
#include "../rma/busy_target.c"
