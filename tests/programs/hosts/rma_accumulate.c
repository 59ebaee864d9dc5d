// ranks: 4
// launch: --pretend-hosts 2
// timeout: 120
// cflags: -lm
// As ../rma/accumulate.c, between hosts: the agent of the target's host executes what others ask for.
#include "../rma/accumulate.c"
