// ranks: 4
// launch: --pretend-hosts 3
// timeout: 120
// As ../file/views.c, between hosts: each has a segment of its own, and messages between them go over TCP.
#include "../file/views.c"
