// ranks: 3
// launch: --pretend-hosts 2
// timeout: 120
// As ../rma/put_get.c, between hosts: the agent of the target's host executes what others ask for.
#include "../rma/put_get.c"
