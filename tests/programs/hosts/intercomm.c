// ranks: 5
// launch: --pretend-hosts 2
// timeout: 60
// As ../comm/intercomm.c, between hosts.
#include "../comm/intercomm.c"
