// ranks: 3
// launch: --pretend-hosts 2
// timeout: 120
// As ../file/access.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../file/access.c"
