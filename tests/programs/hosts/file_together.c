// ranks: 5
// launch: --pretend-hosts 2
// timeout: 120
// As ../file/together.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../file/together.c"
