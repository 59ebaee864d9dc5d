// ranks: 2
// launch: --pretend-hosts 2
// timeout: 120
// As ../dynamic/clients.c, between hosts: a server on several hosts leaks nothing for its clients.
#include "../dynamic/clients.c"
