// ranks: 3 5
// launch: --pretend-hosts 2
// timeout: 120
// As ../file/shared.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../file/shared.c"
