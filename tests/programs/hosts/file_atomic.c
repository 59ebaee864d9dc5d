// ranks: 4
// launch: --pretend-hosts 2
// timeout: 120
// As ../file/atomic.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../file/atomic.c"
