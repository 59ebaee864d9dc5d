// ranks: 4
// launch: --pretend-hosts 2
// timeout: 120
// cflags: -O2
// As ../rma/helpful_target.c, between hosts: the agent of the target's host executes what others ask for.
#include "../rma/helpful_target.c"
